SET synchronous_commit = remote_apply; -- COMMIT returns when the standby shows it
UPDATE planes SET seats = seats + 5 WHERE tailnum = 'N102UW' RETURNING tailnum, seats;
