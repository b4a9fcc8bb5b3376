SELECT count(*) AS airports FROM airports;
SELECT tailnum, seats FROM planes WHERE tailnum = 'N102UW';
SELECT count(*) AS carriers, max(name) FILTER (WHERE carrier = 'ZZ') AS zz FROM airlines;
