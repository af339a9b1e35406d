/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SoC-9000, a made-up system on a chip: what its drivers share.
 */
#ifndef _SOC9000_H
#define _SOC9000_H

#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/types.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "soc9000 knows Linux 6.12 to 7.3"
#endif

struct clk_bulk_data;
struct device;
struct regulator;
struct reset_control;

/* Who switches the clocks, the supply and the reset of a device. */
enum soc9000_pm {
	SOC9000_PM_DRIVERS,	/* its driver, as before */
	SOC9000_PM_DOMAINS,	/* a power domain of its own */
	SOC9000_PM_STARTSTOP,	/* start and stop of the power switch's domain */
};

extern enum soc9000_pm soc9000_pm;

/* What a device needs beside its power switch. */
struct soc9000_resources {
	struct device *dev;
	struct clk_bulk_data *clks;
	int clk_count;
	struct regulator *supply;
	struct reset_control *reset;
};

int soc9000_resources_get(struct soc9000_resources *res, struct device *dev);
void soc9000_resources_put(struct soc9000_resources *res);
int soc9000_resources_on(struct soc9000_resources *res);
void soc9000_resources_off(struct soc9000_resources *res);

int soc9000_domain_add(struct device *dev);

struct generic_pm_domain *soc9000_power_find(struct device *dev);

int soc9000_device_attach(struct generic_pm_domain *genpd, struct device *dev);
void soc9000_device_detach(struct generic_pm_domain *genpd,
			   struct device *dev);
int soc9000_device_start(struct device *dev);
int soc9000_device_stop(struct device *dev);

unsigned int soc9000_consumers_prepare(struct platform_driver **to);
bool soc9000_is_in(const char *list, const char *name);

extern struct platform_driver soc9000_soc_driver;
extern struct platform_driver soc9000_supply_driver;
extern struct platform_driver soc9000_pll_driver;
extern struct platform_driver soc9000_clk_driver;
extern struct platform_driver soc9000_reset_driver;
extern struct platform_driver soc9000_power_driver;

#define SOC9000_CONSUMERS	7

extern char *soc9000_busy;
extern char *soc9000_fail_off;
extern char *soc9000_left_on;
extern char *soc9000_defer;

void soc9000_sleep_init(void);

/* Every transition of a part, which takes @us, and both its ends as an event. */
void soc9000_begin(const char *kind, const char *name, int state);
void soc9000_end(const char *kind, const char *name, int state);
void soc9000_switch(const char *kind, const char *name, int state,
		    unsigned int us);
void soc9000_wait(unsigned int us);

#endif
