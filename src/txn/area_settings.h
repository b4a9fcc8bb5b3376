/*
 * area_settings.h
 *	  The settings that name areas of tables, and the role whose rights are checked for them.
 *
 * One role may make a setting and another one use it: in a SECURITY DEFINER function, or after SET
 * ROLE.  The rights of the role that has made the setting are checked.  For values from a
 * configuration file, from settings of a role or database, or from the connection's options, the
 * rights of the session user are checked.
 */
#ifndef TSURUGI_AREA_SETTINGS_H
#define TSURUGI_AREA_SETTINGS_H

typedef struct tg_long_config tg_long_config; /* kinds.h */

typedef struct tsurugi_area_setting
{
	char *areas;
	Oid setter; /* invalid: the session user */
} tsurugi_area_setting;

/* Only area_settings.c writes them. */
extern tsurugi_area_setting tsurugi_write_preserve;
extern tsurugi_area_setting tsurugi_inclusive_read_areas;
extern tsurugi_area_setting tsurugi_exclusive_read_areas;

/* Defines the settings, when the library is loaded. */
extern void tsurugi_area_settings_define(void);

/* The role whose rights count. */
extern Oid tsurugi_area_setting_role(const tsurugi_area_setting *setting);

/*
 * The areas of all three settings; the tables stay locked until the transaction ends.  Raises the
 * errors of tsurugi_areas_resolve.
 */
extern void tsurugi_area_settings_resolve(tg_long_config *config);

#endif /* TSURUGI_AREA_SETTINGS_H */
