/*
 * area_settings.h
 *	  The settings that name areas of tables, and the role whose rights they are judged by.
 *
 * One role may make the setting and another one use it: in a SECURITY DEFINER function, or after
 * SET ROLE.  The areas are judged by the rights of the role that has set them.  What a
 * configuration file, a role's or database's settings, or the connection's options say is judged by
 * the rights of the session user.
 */
#ifndef TSURUGI_AREA_SETTINGS_H
#define TSURUGI_AREA_SETTINGS_H

#include "runtime/runtime.h"

typedef struct tsurugi_area_setting
{
	char *areas;
	Oid setter; /* invalid: the session user */
} tsurugi_area_setting;

/* Read-only for everybody but area_settings.c. */
extern tsurugi_area_setting tsurugi_write_preserve;
extern tsurugi_area_setting tsurugi_inclusive_read_areas;
extern tsurugi_area_setting tsurugi_exclusive_read_areas;

/* Makes the settings known to the server; when the library is loaded. */
extern void tsurugi_area_settings_define(void);

/* The role whose rights count. */
extern Oid tsurugi_area_setting_role(const tsurugi_area_setting *setting);

/*
 * The areas of all three; the tables stay locked until the transaction ends.  Raises as
 * tsurugi_areas_resolve.
 */
extern void tsurugi_area_settings_resolve(tg_long_config *config);

#endif /* TSURUGI_AREA_SETTINGS_H */
