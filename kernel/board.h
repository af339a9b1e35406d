/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices on demand: what a description says, and the functions that turn it
 * into devices. See README.md beside this file for the format.
 */
#ifndef DORMOUSE_BOARD_H
#define DORMOUSE_BOARD_H

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/pm_domain.h>
#include <linux/pm_qos.h>
#include <linux/types.h>

#define BOARD_MAX_DEVICES	65536
#define BOARD_MAX_LINKS		262144
#define BOARD_MAX_LOCKS		65536
#define BOARD_MAX_DOMAINS	1024
#define BOARD_MAX_STATES	8
#define BOARD_MAX_PARENTS	8
#define BOARD_MAX_TEXT		(64 << 20)
#define BOARD_NAME_LEN		64
#define BOARD_MAX_USAGE		1000
/* One hour: longer is a mistake, and would look like a hang. */
#define BOARD_MAX_NS		3600000000000ULL

/* The callbacks in the order in which a sleep cycle calls them. */
enum board_phase {
	PHASE_PREPARE,
	PHASE_SUSPEND,
	PHASE_LATE,
	PHASE_NOIRQ,
	PHASE_RESUME_NOIRQ,
	PHASE_EARLY,
	PHASE_RESUME,
	PHASE_COMPLETE,
	PHASE_COUNT,
};

/* What one callback does: takes the lock, sleeps, computes, returns. */
struct board_work {
	u64 sleep_ns;
	u64 compute_ns;
	int ret;
	u32 lock;		/* from 1; 0 is none */
};

struct board_device {
	struct device dev;
	struct board *board;
	char name[BOARD_NAME_LEN];
	unsigned int line;
	int parent;		/* index, -1 without */
	int waits;		/* index of who is waited for, -1 for nobody */
	int domain;		/* index, -1 without */
	bool added;
	bool is_class;
	bool bound;
	bool async;
	bool wakeup;
	bool active;
	bool syscore;
	bool no_pm;
	bool no_direct_complete;
	bool runtime;		/* runtime PM is enabled */
	s32 qos_us;		/* may take so long to wake; -1: any time */
	bool has_qos;
	struct dev_pm_qos_request qos;
	bool rpm;		/* it has runtime callbacks, and no domain */
	bool began;		/* it is now */
	bool rpm_first;		/* resumes itself before it suspends */
	bool autosuspend;
	unsigned int usage;	/* held for as long as it exists */
	unsigned int delay_ms;	/* of autosuspend */
	u8 present;		/* bit per callback that exists */
	/* shake.c: a callback runs; bit per phase of the way down that it is in. */
	atomic_t busy;
	unsigned long down;
	struct board_work work[PHASE_COUNT];
	struct board_work run_time[2];	/* runtime suspend, runtime resume */
};

struct board_domain {
	struct generic_pm_domain genpd;
	char name[BOARD_NAME_LEN];
	unsigned int line;
	unsigned int parents[BOARD_MAX_PARENTS];
	unsigned int n_parents;
	unsigned int linked;	/* parents that know of it */
	struct genpd_power_state states[BOARD_MAX_STATES];
	/*
	 * What switching takes. With a governor the kernel puts what it
	 * measures into states[], which is a little longer every time.
	 */
	u64 off_ns[BOARD_MAX_STATES];
	u64 on_ns[BOARD_MAX_STATES];
	unsigned int n_states;
	unsigned int start_state;
	bool added;
	bool starts_off;
	bool governed;		/* by simple_qos_governor */
	bool always_on;
	bool rpm_always_on;
	bool active_wakeup;
};

enum board_link_kind {
	LINK_STATELESS,
	LINK_DORMANT,
	LINK_AVAILABLE,
	LINK_ACTIVE,
	LINK_SYNC_STATE_ONLY,
};

struct board_link {
	unsigned int line;
	unsigned int after;	/* made when so many devices exist */
	unsigned int consumer;
	unsigned int supplier;
	enum board_link_kind kind;
	bool pm_runtime;
};

struct board {
	unsigned int n_devices;
	unsigned int n_links;
	unsigned int n_locks;
	unsigned int n_domains;
	struct board_device **devices;
	struct board_domain **domains;
	struct board_link *links;
	struct mutex *locks;
};

/* Where and why a description was refused. */
struct board_error {
	unsigned int line;
	char text[128];
};

__printf(3, 4)
int board_refuse(struct board_error *err, unsigned int line,
		 const char *fmt, ...);

/* parse.c: changes @text; gives a board without devices in the system. */
struct board *board_parse(char *text, struct board_error *err);
void board_free(struct board *board);

/* devices.c */
extern bool board_uevents;
int board_devices_init(void);
void board_devices_exit(void);
int board_add(struct board *board, struct board_error *err);
void board_remove(struct board *board);
int board_driver_register(struct device_driver *drv);

/* domains.c */
int board_domains_add(struct board *board, struct board_error *err);
void board_domains_settle(struct board *board);
void board_domains_remove(struct board *board);
void board_domains_exit(void);
bool board_domain_match(struct board_device *d,
			const struct device_driver *drv);
int board_domain_attach(struct board_device *d);
void board_domain_detach(struct board_device *d);

/* callbacks.c */
void board_callbacks_init(void);
const struct device_type *board_type(u8 present, bool rpm);
const struct dev_pm_ops *board_pm_ops(u8 present);
void board_sleep(u64 ns);

/* shake.c */
struct dentry;
void board_shake_init(struct dentry *dir);
void board_shake_board(struct board *board);
void board_shake_begin(struct board_device *d, enum board_phase phase);
int board_shake_end(struct board_device *d, enum board_phase phase, int ret);

/* wake.c */
extern u64 board_wake_ns;
int board_wake_init(void);
void board_wake_exit(void);

static inline struct board_device *to_board_device(struct device *dev)
{
	return container_of(dev, struct board_device, dev);
}

#endif
