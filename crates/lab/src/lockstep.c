// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Loaded into QEMU (LD_PRELOAD) when a guest counts instructions, so that the
 * guest cannot notice how the host schedules QEMU's threads.
 *
 * Two threads matter. One emulates the CPUs. The other, the main loop, moves
 * virtual time on when every CPU is idle, and runs the timers that are due then.
 * But each timer that the CPU thread handles by itself wakes the main loop as
 * well. It has nothing to do then, unless it looks in the very moment in which
 * a CPU has halted and its instructions are not counted yet, or in which a timer
 * is due and the CPU thread is about to run it. Then time jumps too far, or the
 * CPUs take turns in another order, and the whole run is another one. On a busy
 * machine that happened in about one boot of ten.
 *
 * So here the main loop goes on only while the CPU thread waits: what it does
 * then depends on nothing but the guest. It is let through after a second in
 * any case, for a guest that never idles (one that has just switched its power
 * off does not).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* 1 while the CPU thread waits and nobody has told it to go on. */
static atomic_int idle = 1;
/* What it waits for, or last waited for. */
static _Atomic(pthread_cond_t *) waits_for;
/* Set in the CPU thread. */
static __thread int runs_cpus;

/* The function behind ours. A plain dlsym() gives an ancient pthread_cond_*. */
static void *next(const char *name)
{
	void *f = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");

	return f ? f : dlsym(RTLD_NEXT, name);
}

/* Who started QEMU takes it along when it is killed, too. */
__attribute__((constructor)) static void end_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Without this file afterwards, all of this had no effect: a static QEMU loads
 * no library, and another one may name its threads otherwise. */
static void leave_sign(void)
{
	const char *path = getenv("DORMOUSE_LOCKSTEP_SIGN");
	int fd = path ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;

	if (fd >= 0)
		close(fd);
}

/* QEMU names its threads: with one thread for all CPUs "ALL CPUs/TCG". */
int pthread_setname_np(pthread_t thread, const char *name)
{
	int (*real)(pthread_t, const char *) = next("pthread_setname_np");

	if (strstr(name, "/TCG")) {
		runs_cpus = 1;
		leave_sign();
	}
	return real(thread, name);
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *);
	int ret;

	if (!real)
		real = next("pthread_cond_wait");
	if (!runs_cpus)
		return real(c, m);
	atomic_store(&waits_for, c);
	atomic_store(&idle, 1);
	syscall(SYS_futex, &idle, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	ret = real(c, m);
	atomic_store(&idle, 0);
	return ret;
}

/* From here on the CPU thread is as good as running. */
static void told(pthread_cond_t *c)
{
	if (c == atomic_load(&waits_for))
		atomic_store(&idle, 0);
}

int pthread_cond_signal(pthread_cond_t *c)
{
	static int (*real)(pthread_cond_t *);

	if (!real)
		real = next("pthread_cond_signal");
	told(c);
	return real(c);
}

int pthread_cond_broadcast(pthread_cond_t *c)
{
	static int (*real)(pthread_cond_t *);

	if (!real)
		real = next("pthread_cond_broadcast");
	told(c);
	return real(c);
}

static void wait_for_idle(void)
{
	const struct timespec second = { 1, 0 };
	int patience = 3;

	/* A wait also ends when the value changed in between, or by a signal. */
	while (!atomic_load(&idle) && patience--)
		if (syscall(SYS_futex, &idle, FUTEX_WAIT_PRIVATE, 0, &second,
			    NULL, 0) && errno == ETIMEDOUT)
			break;
}

/*
 * For tests: "jitter" wakes the main loop at random moments, thousands of times
 * a second, as no host ever does; "jitter-alone" does so and lets it go on at
 * once, to show that it matters.
 */
static const char *disturb(void)
{
	static const char *value;

	if (!value)
		value = getenv("DORMOUSE_LOCKSTEP");
	return value ? value : "";
}

static struct timespec soon(void)
{
	static unsigned int random;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	random = random * 1664525U + (unsigned int)t.tv_nsec;
	t.tv_sec = 0;
	t.tv_nsec = 20000 + (random >> 16);
	return t;
}

/* The main loop waits for events here, without QEMU's big lock. */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	  const sigset_t *mask)
{
	static int (*real)(struct pollfd *, nfds_t, const struct timespec *,
			   const sigset_t *);
	struct timespec early = soon();
	int ret, saved;

	if (!real)
		real = next("ppoll");
	if (syscall(SYS_gettid) != getpid())
		return real(fds, n, timeout, mask);
	if (*disturb() && !(timeout && !timeout->tv_sec &&
			    timeout->tv_nsec < early.tv_nsec))
		timeout = &early;
	ret = real(fds, n, timeout, mask);
	saved = errno;
	if (strcmp(disturb(), "jitter-alone"))
		wait_for_idle();
	errno = saved;
	return ret;
}
