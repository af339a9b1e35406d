// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a description. Everything that can be checked is checked here, before
 * the first device exists; the first fault ends it, with the line named.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "board.h"

static const char * const phase_words[PHASE_COUNT] = {
	[PHASE_PREPARE]		= "prepare",
	[PHASE_SUSPEND]		= "suspend",
	[PHASE_LATE]		= "late",
	[PHASE_NOIRQ]		= "noirq",
	[PHASE_RESUME_NOIRQ]	= "resume_noirq",
	[PHASE_EARLY]		= "early",
	[PHASE_RESUME]		= "resume",
	[PHASE_COMPLETE]	= "complete",
};

static const char * const link_words[] = {
	[LINK_STATELESS]	= "stateless",
	[LINK_DORMANT]		= "dormant",
	[LINK_AVAILABLE]	= "available",
	[LINK_ACTIVE]		= "active",
	[LINK_SYNC_STATE_ONLY]	= "sync_state_only",
};

struct parser {
	struct board *board;
	struct board_error *err;
	unsigned int line;
	unsigned int room_devices;
	unsigned int room_links;
	unsigned int room_domains;
};

int board_refuse(struct board_error *err, unsigned int line,
		 const char *fmt, ...)
{
	va_list args;

	err->line = line;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return -EINVAL;
}

/* The next word of the line, or NULL at its end. */
static char *next_word(char **rest)
{
	char *word;

	do {
		word = strsep(rest, " \t\r");
	} while (word && !*word);
	return word;
}

/* Doubles the room of an array that is full. */
static void *make_room(void *old, unsigned int used, unsigned int *room,
		       size_t size)
{
	unsigned int more = *room ? 2 * *room : 64;
	void *new;

	if (used < *room)
		return old;
	new = kvcalloc(more, size, GFP_KERNEL);
	if (!new)
		return NULL;
	if (used)
		memcpy(new, old, used * size);
	kvfree(old);
	*room = more;
	return new;
}

/* PHASE=SLEEP[,COMPUTE[,RET[,LOCK]]]; times in nanoseconds. */
static int parse_work(struct parser *p, struct board_device *d,
		      enum board_phase phase, char *value)
{
	struct board_work *w = &d->work[phase];
	char *field[4] = { };
	int i, ret, highest = phase == PHASE_PREPARE ? 1 : 0;

	for (i = 0; i < 4 && value; i++)
		field[i] = strsep(&value, ",");
	if (value)
		return board_refuse(p->err, p->line, "%s: more than four fields",
				    phase_words[phase]);
	if (d->present & BIT(phase))
		return board_refuse(p->err, p->line, "%s is given twice",
				    phase_words[phase]);
	ret = kstrtou64(field[0], 10, &w->sleep_ns);
	if (!ret && field[1])
		ret = kstrtou64(field[1], 10, &w->compute_ns);
	if (!ret && field[2])
		ret = kstrtoint(field[2], 10, &w->ret);
	if (!ret && field[3])
		ret = kstrtou32(field[3], 10, &w->lock);
	if (ret)
		return board_refuse(p->err, p->line, "%s: not a number",
				    phase_words[phase]);
	if (w->sleep_ns > BOARD_MAX_NS || w->compute_ns > BOARD_MAX_NS)
		return board_refuse(p->err, p->line, "%s: longer than an hour",
				    phase_words[phase]);
	if (w->ret < -MAX_ERRNO || w->ret > highest)
		return board_refuse(p->err, p->line, "%s cannot return %d",
				    phase_words[phase], w->ret);
	/* The PM core calls prepare again for as long as it says -EAGAIN. */
	if (phase == PHASE_PREPARE && w->ret == -EAGAIN)
		return board_refuse(p->err, p->line,
				    "prepare cannot return %d: it would be called for ever",
				    w->ret);
	if (phase == PHASE_COMPLETE && w->ret)
		return board_refuse(p->err, p->line, "complete returns nothing");
	if (w->lock > BOARD_MAX_LOCKS)
		return board_refuse(p->err, p->line, "lock above %d",
				    BOARD_MAX_LOCKS);
	p->board->n_locks = max(p->board->n_locks, w->lock);
	d->present |= BIT(phase);
	return 0;
}

/* rpm_suspend= and rpm_resume=: SLEEP[,COMPUTE]; they enable runtime PM. */
static int parse_run_time(struct parser *p, struct board_device *d,
			  unsigned int which, char *value)
{
	struct board_work *w = &d->run_time[which];
	char *sleep = strsep(&value, ",");
	int ret;

	ret = kstrtou64(sleep, 10, &w->sleep_ns);
	if (!ret && value)
		ret = kstrtou64(value, 10, &w->compute_ns);
	if (ret || w->sleep_ns > BOARD_MAX_NS || w->compute_ns > BOARD_MAX_NS)
		return board_refuse(p->err, p->line,
				    "runtime callback: not a time below an hour");
	d->rpm = true;
	return 0;
}

static int parse_name(struct parser *p, char *to, const char *name)
{
	const char *c;

	if (!name)
		return board_refuse(p->err, p->line, "a line without a name");
	if (strlen(name) >= BOARD_NAME_LEN)
		return board_refuse(p->err, p->line,
				    "name longer than %d bytes",
				    BOARD_NAME_LEN - 1);
	for (c = name; *c; c++)
		if (!isgraph(*c) || *c == '/' || *c == '!')
			return board_refuse(p->err, p->line,
					    "name with a byte that sysfs does not take");
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return board_refuse(p->err, p->line, "not a name");
	strscpy(to, name, BOARD_NAME_LEN);
	return 0;
}

static int parse_device_word(struct parser *p, struct board_device *d,
			     char *word)
{
	char *value = strchr(word, '=');
	unsigned int n;
	int i;

	if (value) {
		*value++ = '\0';
		if (!strcmp(word, "parent")) {
			if (kstrtouint(value, 10, &n) ||
			    n >= p->board->n_devices - 1)
				return board_refuse(p->err, p->line,
						    "parent is not a device above");
			d->parent = n;
			return 0;
		}
		if (!strcmp(word, "domain")) {
			if (kstrtouint(value, 10, &n) ||
			    n >= p->board->n_domains)
				return board_refuse(p->err, p->line,
						    "domain is not one above");
			d->domain = n;
			return 0;
		}
		if (!strcmp(word, "waits")) {
			if (kstrtouint(value, 10, &n) ||
			    n >= p->board->n_devices - 1)
				return board_refuse(p->err, p->line,
						    "waits for no device above");
			d->waits = n;
			return 0;
		}
		if (!strcmp(word, "qos")) {
			if (kstrtos32(value, 10, &d->qos_us) || d->qos_us < 0)
				return board_refuse(p->err, p->line,
						    "qos is microseconds");
			return 0;
		}
		if (!strcmp(word, "rpm_suspend"))
			return parse_run_time(p, d, 0, value);
		if (!strcmp(word, "rpm_resume"))
			return parse_run_time(p, d, 1, value);
		if (!strcmp(word, "usage")) {
			if (kstrtouint(value, 10, &d->usage) ||
			    d->usage > BOARD_MAX_USAGE)
				return board_refuse(p->err, p->line,
						    "usage above %d",
						    BOARD_MAX_USAGE);
			return 0;
		}
		if (!strcmp(word, "autosuspend")) {
			if (kstrtouint(value, 10, &d->delay_ms) ||
			    d->delay_ms > BOARD_MAX_NS / NSEC_PER_MSEC)
				return board_refuse(p->err, p->line,
						    "autosuspend: not milliseconds");
			d->autosuspend = true;
			return 0;
		}
		for (i = 0; i < PHASE_COUNT; i++)
			if (!strcmp(word, phase_words[i]))
				return parse_work(p, d, i, value);
	} else if (!strcmp(word, "class")) {
		d->is_class = true;
		return 0;
	} else if (!strcmp(word, "bound")) {
		d->bound = true;
		return 0;
	} else if (!strcmp(word, "async")) {
		d->async = true;
		return 0;
	} else if (!strcmp(word, "wakeup")) {
		d->wakeup = true;
		return 0;
	} else if (!strcmp(word, "active")) {
		d->active = true;
		return 0;
	} else if (!strcmp(word, "runtime")) {
		d->runtime = true;
		return 0;
	} else if (!strcmp(word, "syscore")) {
		d->syscore = true;
		return 0;
	} else if (!strcmp(word, "no_pm")) {
		d->no_pm = true;
		return 0;
	} else if (!strcmp(word, "no_direct_complete")) {
		d->no_direct_complete = true;
		return 0;
	} else if (!strcmp(word, "rpm_first")) {
		d->rpm_first = true;
		return 0;
	}
	return board_refuse(p->err, p->line, "unknown word %.32s", word);
}

static int parse_device(struct parser *p, char *rest)
{
	struct board *b = p->board;
	struct board_device **room, *d;
	char *word;
	int ret;

	if (b->n_devices == BOARD_MAX_DEVICES)
		return board_refuse(p->err, p->line, "more than %d devices",
				    BOARD_MAX_DEVICES);
	room = make_room(b->devices, b->n_devices, &p->room_devices,
			 sizeof(*b->devices));
	if (!room)
		return -ENOMEM;
	b->devices = room;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->board = b;
	d->line = p->line;
	d->parent = -1;
	d->waits = -1;
	d->domain = -1;
	d->qos_us = -1;
	b->devices[b->n_devices++] = d;

	ret = parse_name(p, d->name, next_word(&rest));
	while (!ret && (word = next_word(&rest)))
		ret = parse_device_word(p, d, word);
	if (ret)
		return ret;
	if (d->is_class && d->bound)
		return board_refuse(p->err, p->line,
				    "a class device cannot be bound to a driver");
	if (d->is_class && d->domain >= 0)
		return board_refuse(p->err, p->line,
				    "a class device cannot be in a domain");
	if (d->qos_us >= 0 && d->domain < 0)
		return board_refuse(p->err, p->line,
				    "qos is for devices in a domain");
	if (d->runtime && d->domain < 0)
		return board_refuse(p->err, p->line,
				    "runtime is for devices in a domain");
	if (d->no_pm && d->domain >= 0)
		return board_refuse(p->err, p->line,
				    "a no_pm device is in no domain");
	if (d->rpm && d->domain >= 0)
		return board_refuse(p->err, p->line,
				    "runtime callbacks and a domain are not both known");
	if (d->no_pm && (d->present || d->wakeup || d->rpm))
		return board_refuse(p->err, p->line,
				    "a no_pm device has no callbacks and does not wake");
	if (!d->rpm && (d->rpm_first || d->usage || d->autosuspend))
		return board_refuse(p->err, p->line,
				    "without rpm_suspend or rpm_resume there is no runtime PM");
	return 0;
}

/* OFF,ON in nanoseconds; shallow states first. */
static int parse_state(struct parser *p, struct board_domain *d, char *value)
{
	struct genpd_power_state *s = &d->states[d->n_states];
	char *off = strsep(&value, ",");

	if (d->n_states == BOARD_MAX_STATES)
		return board_refuse(p->err, p->line, "more than %d states",
				    BOARD_MAX_STATES);
	if (!value || kstrtos64(off, 10, &s->power_off_latency_ns) ||
	    kstrtos64(value, 10, &s->power_on_latency_ns))
		return board_refuse(p->err, p->line, "state wants OFF,ON");
	if (s->power_off_latency_ns < 0 || s->power_on_latency_ns < 0 ||
	    s->power_off_latency_ns > BOARD_MAX_NS ||
	    s->power_on_latency_ns > BOARD_MAX_NS)
		return board_refuse(p->err, p->line,
				    "state: longer than an hour");
	d->off_ns[d->n_states] = s->power_off_latency_ns;
	d->on_ns[d->n_states] = s->power_on_latency_ns;
	d->n_states++;
	return 0;
}

static int parse_domain_word(struct parser *p, struct board_domain *d,
			     char *word)
{
	char *value = strchr(word, '=');
	unsigned int n;

	if (value) {
		*value++ = '\0';
		if (!strcmp(word, "state"))
			return parse_state(p, d, value);
		if (!strcmp(word, "parent")) {
			if (kstrtouint(value, 10, &n) ||
			    n >= p->board->n_domains - 1 ||
			    d->n_parents == BOARD_MAX_PARENTS)
				return board_refuse(p->err, p->line,
						    "parent is not a domain above");
			d->parents[d->n_parents++] = n;
			return 0;
		}
		if (!strcmp(word, "off")) {
			if (kstrtouint(value, 10, &n) || n >= d->n_states)
				return board_refuse(p->err, p->line,
						    "off is not a state before");
			d->starts_off = true;
			d->start_state = n;
			return 0;
		}
	} else if (!strcmp(word, "always_on")) {
		d->always_on = true;
		return 0;
	} else if (!strcmp(word, "rpm_always_on")) {
		d->rpm_always_on = true;
		return 0;
	} else if (!strcmp(word, "simple_qos")) {
		d->governed = true;
		return 0;
	} else if (!strcmp(word, "active_wakeup")) {
		d->active_wakeup = true;
		return 0;
	}
	return board_refuse(p->err, p->line, "unknown word %.32s", word);
}

static int parse_domain(struct parser *p, char *rest)
{
	struct board *b = p->board;
	struct board_domain **room, *d;
	char *word;
	int ret;

	if (b->n_domains == BOARD_MAX_DOMAINS)
		return board_refuse(p->err, p->line, "more than %d domains",
				    BOARD_MAX_DOMAINS);
	room = make_room(b->domains, b->n_domains, &p->room_domains,
			 sizeof(*b->domains));
	if (!room)
		return -ENOMEM;
	b->domains = room;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->line = p->line;
	b->domains[b->n_domains++] = d;

	ret = parse_name(p, d->name, next_word(&rest));
	while (!ret && (word = next_word(&rest)))
		ret = parse_domain_word(p, d, word);
	if (ret)
		return ret;
	if (!d->n_states)
		return board_refuse(p->err, p->line, "domain without a state");
	if (d->starts_off && (d->always_on || d->rpm_always_on))
		return board_refuse(p->err, p->line,
				    "a domain that is always on starts on");
	return 0;
}

static int parse_link(struct parser *p, char *rest)
{
	struct board *b = p->board;
	char *consumer = next_word(&rest);
	char *supplier = next_word(&rest);
	char *kind = next_word(&rest);
	struct board_link *room, *l;
	char *word;
	int i;

	if (b->n_links == BOARD_MAX_LINKS)
		return board_refuse(p->err, p->line, "more than %d links",
				    BOARD_MAX_LINKS);
	room = make_room(b->links, b->n_links, &p->room_links,
			 sizeof(*b->links));
	if (!room)
		return -ENOMEM;
	b->links = room;
	l = &b->links[b->n_links++];
	l->line = p->line;
	l->after = b->n_devices;

	if (!kind)
		return board_refuse(p->err, p->line,
				    "link wants consumer, supplier and kind");
	if (kstrtouint(consumer, 10, &l->consumer) ||
	    kstrtouint(supplier, 10, &l->supplier) ||
	    l->consumer >= b->n_devices || l->supplier >= b->n_devices ||
	    l->consumer == l->supplier)
		return board_refuse(p->err, p->line,
				    "link wants two different devices above");
	i = match_string(link_words, ARRAY_SIZE(link_words), kind);
	if (i < 0)
		return board_refuse(p->err, p->line, "unknown kind of link %.32s",
				    kind);
	l->kind = i;
	while ((word = next_word(&rest))) {
		if (strcmp(word, "pm_runtime") ||
		    l->kind == LINK_SYNC_STATE_ONLY)
			return board_refuse(p->err, p->line,
					    "this link cannot be %.32s", word);
		l->pm_runtime = true;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct board_device * const *x = a, * const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* sysfs would refuse the second one too, but with a stack dump in the log. */
static int refuse_duplicates(struct parser *p)
{
	struct board *b = p->board;
	struct board_device **sorted;
	unsigned int i;
	int ret = 0;

	if (!b->n_devices)
		return board_refuse(p->err, p->line, "no device");
	sorted = kvcalloc(b->n_devices, sizeof(*sorted), GFP_KERNEL);
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, b->devices, b->n_devices * sizeof(*sorted));
	sort(sorted, b->n_devices, sizeof(*sorted), by_name, NULL);
	for (i = 1; i < b->n_devices && !ret; i++)
		if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
			ret = board_refuse(p->err,
					   max(sorted[i - 1]->line,
					       sorted[i]->line),
					   "second device called %s",
					   sorted[i]->name);
	kvfree(sorted);
	return ret;
}

static int parse_lines(struct parser *p, char *text)
{
	bool header = false, ended = false;
	char *line, *word;
	int ret = 0;

	while (!ret && (line = strsep(&text, "\n"))) {
		p->line++;
		word = next_word(&line);
		if (!word || *word == '#')
			continue;
		if (ended)
			return board_refuse(p->err, p->line, "text after end");
		if (!header) {
			char *version = next_word(&line);

			if (strcmp(word, "dormouse-board") || !version ||
			    strcmp(version, "1"))
				return board_refuse(p->err, p->line,
						    "does not begin with dormouse-board 1");
			header = true;
		} else if (!strcmp(word, "device")) {
			ret = parse_device(p, line);
		} else if (!strcmp(word, "domain")) {
			ret = parse_domain(p, line);
		} else if (!strcmp(word, "link")) {
			ret = parse_link(p, line);
		} else if (!strcmp(word, "end")) {
			ended = true;
		} else {
			return board_refuse(p->err, p->line,
					    "unknown word %.32s", word);
		}
	}
	if (!ret && !ended)
		return board_refuse(p->err, p->line, "no end: the text is cut");
	return ret;
}

void board_free(struct board *board)
{
	unsigned int i;

	if (!board)
		return;
	for (i = 0; i < board->n_devices; i++)
		kfree(board->devices[i]);
	for (i = 0; i < board->n_domains; i++)
		kfree(board->domains[i]);
	kvfree(board->domains);
	kvfree(board->devices);
	kvfree(board->links);
	kvfree(board->locks);
	kfree(board);
}

struct board *board_parse(char *text, struct board_error *err)
{
	struct parser p = { .err = err };
	unsigned int i;
	int ret;

	p.board = kzalloc(sizeof(*p.board), GFP_KERNEL);
	if (!p.board)
		return ERR_PTR(-ENOMEM);
	ret = parse_lines(&p, text);
	if (!ret)
		ret = refuse_duplicates(&p);
	if (!ret && p.board->n_locks) {
		p.board->locks = kvcalloc(p.board->n_locks,
					  sizeof(*p.board->locks), GFP_KERNEL);
		if (!p.board->locks)
			ret = -ENOMEM;
		else
			for (i = 0; i < p.board->n_locks; i++)
				mutex_init(&p.board->locks[i]);
	}
	if (ret) {
		board_free(p.board);
		return ERR_PTR(ret);
	}
	return p.board;
}
