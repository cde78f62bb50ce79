-- Item 3: functions and clauses by the names that the common dialects have for them.

-- name: var
-- world: clinic
-- plain: SELECT sex, VAR_SAMP(weight) AS v FROM patients GROUP BY sex
SELECT sex, VAR(weight) AS v FROM patients GROUP BY sex;

-- name: std
-- world: clinic
-- plain: SELECT sex, STDDEV_SAMP(weight) AS s FROM patients GROUP BY sex
-- close: 0.01
SELECT sex, STD(weight) AS s FROM patients GROUP BY sex;

-- name: stdev
-- world: clinic
-- plain: SELECT STDDEV_SAMP(cost) AS s, COUNT(*) AS n FROM visits WHERE ward = 'A'
SELECT STDEV(cost) AS s, COUNT(*) AS n FROM visits WHERE ward = 'A';

-- name: stdevp_and_varp
-- world: clinic
-- plain: SELECT STDDEV_POP(cost) AS s, VAR_POP(cost) AS v FROM visits
SELECT STDEVP(cost) AS s, VARP(cost) AS v FROM visits;

-- name: count_big
-- world: clinic
-- plain: SELECT city, COUNT(*) AS n FROM patients GROUP BY city
SELECT city, COUNT_BIG(*) AS n FROM patients GROUP BY city;

-- name: isnull_with_two_arguments
-- world: clinic
-- plain: SELECT COALESCE(city, 'unknown') AS place, COUNT(*) AS n FROM patients GROUP BY 1
SELECT ISNULL(city, 'unknown') AS place, COUNT(*) AS n FROM patients GROUP BY ISNULL(city, 'unknown');

-- name: nvl
-- world: clinic
-- plain: SELECT SUM(COALESCE(cost, 0)) AS total FROM visits
SELECT SUM(NVL(cost, 0)) AS total FROM visits;

-- name: nvl2_and_iff
-- world: clinic
-- plain: SELECT SUM(CASE WHEN cost IS NOT NULL THEN 1 ELSE 0 END) AS priced, SUM(CASE WHEN urgent THEN nights ELSE 0 END) AS urgent_nights FROM visits
SELECT SUM(NVL2(cost, 1, 0)) AS priced, SUM(IFF(urgent, nights, 0)) AS urgent_nights FROM visits;

-- name: iif
-- world: clinic
-- plain: SELECT CASE WHEN nights > 5 THEN 'long' ELSE 'short' END AS stay, COUNT(*) AS n FROM visits GROUP BY 1
SELECT IIF(nights > 5, 'long', 'short') AS stay, COUNT(*) AS n FROM visits GROUP BY IIF(nights > 5, 'long', 'short');

-- name: getdate
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE day < CURRENT_DATE
SELECT COUNT(*) AS n FROM visits WHERE day < GETDATE();

-- name: age_by_getdate
-- world: clinic
-- plain: SELECT AVG(YEAR(CURRENT_DATE) - birth_year) AS age FROM patients
SELECT AVG(YEAR(GETDATE()) - birth_year) AS age FROM patients;

-- name: current_date_and_now
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM patients WHERE registered BETWEEN DATE '2015-01-01' AND CURRENT_DATE
SELECT COUNT(*) AS n FROM patients WHERE registered BETWEEN '2015-01-01' AND CURRENT_DATE;

-- name: dateadd
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE left_on > day + INTERVAL 7 DAY
SELECT COUNT(*) AS n FROM visits WHERE left_on > DATEADD(day, 7, day);

-- name: dateadd_months_before
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2024-06-30' - INTERVAL 6 MONTH
SELECT COUNT(*) AS n FROM visits WHERE day >= DATEADD(MONTH, -6, '2024-06-30');

-- name: datediff
-- world: clinic
-- plain: SELECT ward, AVG(DATE_DIFF('day', day, left_on)) AS stay FROM visits WHERE ward <> 'E' GROUP BY ward
SELECT ward, AVG(DATEDIFF(day, day, left_on)) AS stay FROM visits WHERE ward <> 'E' GROUP BY ward;

-- name: datediff_quoted_part
-- world: clinic
SELECT SUM(DATEDIFF('month', day, left_on)) AS months FROM visits;

-- name: datefromparts
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE day >= make_date(2023, 7, 1)
SELECT COUNT(*) AS n FROM visits WHERE day >= DATEFROMPARTS(2023, 7, 1);

-- name: datepart_and_datename
-- world: clinic
-- plain: SELECT year(day) AS y, quarter(day) AS q, COUNT(*) AS n FROM visits GROUP BY 1, 2 ORDER BY y, q
SELECT DATEPART(year, day) AS y, DATEPART(quarter, day) AS q, COUNT(*) AS n
FROM visits
GROUP BY DATEPART(year, day), DATEPART(quarter, day)
ORDER BY y, q;

-- name: octet_length
-- world: clinic
-- plain: SELECT AVG(LEAST(strlen(plan), 20)) AS bytes FROM patients
SELECT AVG(LEAST(OCTET_LENGTH(plan), 20)) AS bytes FROM patients;

-- name: char_length_and_len
-- world: clinic
-- plain: SELECT LENGTH(plan) AS l, COUNT(*) AS n FROM patients WHERE LENGTH(city) = 6 GROUP BY 1
SELECT CHAR_LENGTH(plan) AS l, COUNT(*) AS n FROM patients WHERE LEN(city) = 6 GROUP BY CHAR_LENGTH(plan);

-- name: to_timestamp
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE arrived >= TIMESTAMP '2023-03-01 12:00:00'
SELECT COUNT(*) AS n FROM visits WHERE arrived >= TO_TIMESTAMP('2023-03-01 12:00:00');

-- name: to_date
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2023-02-01'
SELECT COUNT(*) AS n FROM visits WHERE day < TO_DATE('2023-02-01', 'YYYY-MM-DD');

-- name: time_trunc
-- world: clinic
-- plain: SELECT DATE_TRUNC('month', arrived) AS m, COUNT(*) AS n FROM visits WHERE arrived < TIMESTAMP '2022-06-01' GROUP BY 1 ORDER BY m
SELECT TIMESTAMP_TRUNC(arrived, MONTH) AS m, COUNT(*) AS n
FROM visits
WHERE arrived < TIMESTAMP '2022-06-01'
GROUP BY m
ORDER BY m;

-- name: date_trunc_of_googlesql
-- world: clinic
-- plain: SELECT DATE_TRUNC('year', day) AS y, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1
SELECT DATE_TRUNC(day, YEAR) AS y, COUNT(*) AS n FROM visits GROUP BY y ORDER BY y;

-- name: strftime_groups
-- world: clinic
SELECT strftime(day, '%Y-%m') AS month, COUNT(*) AS n FROM visits GROUP BY month ORDER BY month;

-- name: strftime_of_years
-- world: clinic
SELECT STRFTIME(arrived, '%Y') AS y, SUM(nights) AS nights FROM visits GROUP BY 1 ORDER BY 1;

-- name: ilike
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE diagnosis ILIKE 'FLU%';

-- name: not_ilike
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE diagnosis NOT ILIKE '%fract%';

-- name: whole_division
-- world: clinic
SELECT birth_year // 10 * 10 AS decade, COUNT(*) AS n FROM patients GROUP BY decade ORDER BY decade;

-- name: div_of_whole_numbers
-- world: clinic
-- plain: SELECT nights // 4 AS weeks, COUNT(*) AS n FROM visits GROUP BY 1
SELECT DIV(nights, 4) AS weeks, COUNT(*) AS n FROM visits GROUP BY 1;

-- name: group_by_all
-- world: clinic
SELECT sex, city, COUNT(*) AS n, AVG(birth_year) AS born FROM patients GROUP BY ALL ORDER BY ALL;

-- name: group_by_all_with_an_expression
-- world: clinic
SELECT YEAR(day) AS y, urgent, SUM(nights) AS nights FROM visits GROUP BY ALL ORDER BY y, urgent;

-- name: is_distinct_from
-- world: clinic
SELECT COUNT(*) AS n FROM patients WHERE city IS DISTINCT FROM 'Bergen';

-- name: is_not_distinct_from
-- world: clinic
SELECT sex, COUNT(*) AS n FROM patients WHERE smoker IS NOT DISTINCT FROM NULL GROUP BY sex;

-- name: null_safe_equality
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM patients WHERE city IS NOT DISTINCT FROM 'Cork'
SELECT COUNT(*) AS n FROM patients WHERE city <=> 'Cork';

-- name: pairs_in_a_list
-- world: clinic
SELECT COUNT(*) AS n FROM patients WHERE (sex, city) IN (('F', 'Cork'), ('M', 'Delft'), ('M', 'Aarhus'));

-- name: pairs_not_in_a_list
-- world: clinic
SELECT ward, COUNT(*) AS n FROM visits WHERE (ward, urgent) NOT IN (('A', TRUE), ('C', FALSE)) GROUP BY ward;

-- name: fetch_first
-- world: clinic
-- plain: SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC FETCH FIRST 2 ROWS ONLY;

-- name: offset_fetch_next
-- world: clinic
-- plain: SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2 OFFSET 1
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY;

-- name: top_n
-- world: clinic
-- plain: SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3
SELECT TOP 3 ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC;

-- name: top_n_in_brackets
-- world: clinic
-- plain: SELECT city, AVG(weight) AS w FROM patients WHERE city IS NOT NULL GROUP BY city ORDER BY w DESC LIMIT 1
SELECT TOP (1) city, AVG(weight) AS w FROM patients WHERE city IS NOT NULL GROUP BY city ORDER BY w DESC;

-- name: columns_after_an_alias
-- world: clinic
SELECT t.gender, COUNT(*) AS n FROM (SELECT sex, birth_year FROM patients) AS t(gender, born) WHERE t.born > 1980 GROUP BY t.gender;

-- name: columns_after_the_name_of_a_cte
-- world: clinic
WITH stays(place, how_long) AS (SELECT ward, nights FROM visits) SELECT place, AVG(how_long) AS m FROM stays WHERE place IN ('A', 'B') GROUP BY place;

-- name: columns_after_the_alias_of_a_table
-- world: clinic
SELECT w, COUNT(*) AS n FROM wards AS x(w, t) JOIN visits ON ward = w GROUP BY w;

-- name: join_in_brackets
-- world: clinic
SELECT p.sex, w.floor, COUNT(*) AS n
FROM (visits v INNER JOIN patients p ON v.patient_id = p.patient_id) INNER JOIN wards w ON v.ward = w.ward
GROUP BY p.sex, w.floor;

-- name: brackets_on_the_right
-- world: clinic
SELECT d.family, COUNT(*) AS n
FROM visits v JOIN (prescriptions r JOIN drugs d ON r.drug_id = d.drug_id) ON v.visit_id = r.visit_id
WHERE v.ward = 'B'
GROUP BY d.family;

-- name: log_and_ceiling_and_pow
-- world: clinic
-- plain: SELECT SUM(CEIL(nights / 7.0)) AS weeks, AVG(POWER(nights, 2)) AS squares FROM visits
SELECT SUM(CEILING(nights / 7.0)) AS weeks, AVG(POW(nights, 2)) AS squares FROM visits;

-- name: mean_as_avg
-- world: clinic
-- plain: SELECT AVG(nights) AS m, COUNT(*) FILTER (WHERE urgent) AS u FROM visits
SELECT MEAN(nights) AS m, COUNTIF(urgent) AS u FROM visits;

-- name: substr_and_ucase
-- world: clinic
-- plain: SELECT UPPER(SUBSTRING(plan, 1, 1)) AS initial, COUNT(*) AS n FROM patients GROUP BY 1
SELECT UCASE(SUBSTR(plan, 1, 1)) AS initial, COUNT(*) AS n FROM patients GROUP BY 1;

-- name: variance_in_spark
-- world: bikes
-- plain: SELECT member, VAR_SAMP(price) AS v, STDDEV_SAMP(price) AS s FROM trips JOIN riders USING (rider_id) GROUP BY member
SELECT member, VARIANCE(price) AS v, STDDEV(price) AS s FROM trips JOIN riders USING (rider_id) GROUP BY member;

-- name: minutes_between_timestamps
-- world: bikes
-- plain: SELECT AVG(LEAST(DATE_DIFF('minute', started, ended), 120)) AS m FROM trips WHERE ended IS NOT NULL
SELECT AVG(LEAST(TIMESTAMPDIFF(MINUTE, started, ended), 120)) AS m FROM trips WHERE ended IS NOT NULL;

-- name: date_diff_of_googlesql
-- world: bikes
-- plain: SELECT COUNT(*) AS n FROM trips WHERE DATE_DIFF('minute', started, ended) > 30
SELECT COUNT(*) AS n FROM trips WHERE TIMESTAMP_DIFF(ended, started, MINUTE) > 30;

-- name: date_of_a_timestamp
-- world: bikes
-- plain: SELECT COUNT(*) AS n FROM trips WHERE CAST(started AS DATE) = DATE '2023-06-01'
SELECT COUNT(*) AS n FROM trips WHERE DATE(started) = '2023-06-01';

-- name: cast_to_date_with_colons
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE started::DATE BETWEEN '2023-03-01' AND '2023-03-31';

-- name: date_format
-- world: bikes
-- plain: SELECT strftime(started, '%Y-%m') AS month, COUNT(*) AS n FROM trips GROUP BY 1 ORDER BY 1
SELECT DATE_FORMAT(started, '%Y-%m') AS month, COUNT(*) AS n FROM trips GROUP BY month ORDER BY month;

-- name: to_char
-- world: bikes
-- plain: SELECT strftime(started, '%Y-%m') AS month, SUM(price) AS price FROM trips GROUP BY 1 ORDER BY 1
SELECT TO_CHAR(started, 'YYYY-MM') AS month, SUM(price) AS price FROM trips GROUP BY TO_CHAR(started, 'YYYY-MM') ORDER BY 1;

-- name: date_sub_and_date_add
-- world: bikes
-- plain: SELECT COUNT(*) AS n FROM trips WHERE started >= TIMESTAMP '2023-07-01' - INTERVAL 30 DAY AND started < DATE '2023-07-01' + INTERVAL 1 MONTH
SELECT COUNT(*) AS n FROM trips WHERE started >= DATE_SUB('2023-07-01', INTERVAL 30 DAY) AND started < DATE_ADD('2023-07-01', INTERVAL 1 MONTH);

-- name: quoted_interval
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE started < DATE '2023-02-01' + INTERVAL '10' DAY AND ended > started + INTERVAL '20 minutes';

-- name: day_name_of_the_week
-- world: bikes
-- plain: SELECT dayofweek(started) AS d, COUNT(*) AS n FROM trips GROUP BY 1 ORDER BY 1
SELECT EXTRACT(DOW FROM started) AS d, COUNT(*) AS n FROM trips GROUP BY EXTRACT(DOW FROM started) ORDER BY d;

-- name: hour_of_the_day
-- world: bikes
SELECT DATE_PART('hour', started) AS h, COUNT(*) AS n FROM trips GROUP BY 1 ORDER BY 1;

-- name: safe_divide
-- world: bikes
-- plain: SELECT SUM(price) / NULLIF(SUM(km), 0) AS per_km FROM trips
SELECT SAFE_DIVIDE(SUM(price), SUM(km)) AS per_km FROM trips;

-- name: zeroifnull_and_div0
-- world: bikes
-- plain: SELECT SUM(COALESCE(km, 0)) AS km, COUNT(*) / 2.0 AS half FROM trips
SELECT SUM(ZEROIFNULL(km)) AS km, DIV0(COUNT(*), 2) AS half FROM trips;

-- name: count_if_variants
-- world: bikes
-- plain: SELECT COUNT(*) FILTER (WHERE km > 10) AS far, COUNT(*) FILTER (WHERE km <= 10) AS near FROM trips
SELECT COUNT_IF(km > 10) AS far, SUM(IF(km <= 10, 1, 0)) AS near FROM trips;

-- name: truncate_and_log
-- world: bikes
-- plain: SELECT CAST(TRUNC(price) AS BIGINT) AS whole, COUNT(*) AS n FROM trips GROUP BY 1 ORDER BY 1
SELECT TRUNC(price) AS whole, COUNT(*) AS n FROM trips GROUP BY TRUNC(price) ORDER BY 1;

-- name: not_equal_with_an_exclamation_mark
-- world: bikes
SELECT COUNT(*) AS n FROM riders WHERE tariff != 'day' AND NOT member;

-- name: like_with_an_underscore
-- world: bikes
SELECT COUNT(*) AS n FROM riders WHERE rider_id LIKE 'r00_5' OR rider_id NOT LIKE '%0';

-- name: decode
-- world: bikes
-- plain: SELECT CASE tariff WHEN 'day' THEN 'short' WHEN 'year' THEN 'long' ELSE 'middle' END AS t, COUNT(*) AS n FROM riders GROUP BY 1
SELECT DECODE(tariff, 'day', 'short', 'year', 'long', 'middle') AS t, COUNT(*) AS n FROM riders GROUP BY 1;

-- name: limit_with_a_comma
-- world: bikes
-- plain: SELECT tariff, COUNT(*) AS n FROM riders GROUP BY tariff ORDER BY n DESC LIMIT 1 OFFSET 1
SELECT tariff, COUNT(*) AS n FROM riders GROUP BY tariff ORDER BY n DESC LIMIT 1, 1;

-- name: from_first
-- world: bikes
FROM riders SELECT tariff, COUNT(*) AS n GROUP BY tariff;

-- name: natural_join
-- world: bikes
SELECT member, COUNT(*) AS n FROM trips NATURAL JOIN riders GROUP BY member;

-- name: comments_and_a_trailing_semicolon
-- world: bikes
SELECT tariff -- how they pay
  , COUNT(*) AS n /* riders */
FROM riders
GROUP BY tariff
;

-- name: time_trunc_in_a_condition
-- world: bikes
-- plain: SELECT COUNT(*) AS n FROM trips WHERE DATE_TRUNC('hour', started) < TIMESTAMP '2023-04-01 08:00:00'
SELECT COUNT(*) AS n FROM trips WHERE TIME_TRUNC(started, HOUR) < TIMESTAMP '2023-04-01 08:00:00';

-- name: natural_join_with_a_public_table
-- world: clinic
SELECT title, COUNT(*) AS n FROM visits NATURAL JOIN wards WHERE ward <> 'E' GROUP BY title ORDER BY title;

-- name: natural_left_join
-- world: clinic
SELECT COUNT(*) AS n, COUNT(beds) AS b FROM visits NATURAL LEFT JOIN wards;

-- name: equal_to_any_of_a_list
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE ward IN ('A', 'C')
SELECT COUNT(*) AS n FROM visits WHERE ward = ANY ('A', 'C');

-- name: in_values
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE ward IN ('A', 'C')
SELECT COUNT(*) AS n FROM visits WHERE ward IN (VALUES ('A'), ('C'));

-- name: not_in_values
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM prescriptions WHERE drug_id NOT IN (1, 2)
SELECT COUNT(*) AS n FROM prescriptions WHERE drug_id NOT IN (VALUES (1), (2));

-- name: with_cube
-- world: clinic
-- plain: SELECT sex, COUNT(*) AS n FROM patients GROUP BY CUBE (sex) ORDER BY sex
SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex WITH CUBE ORDER BY sex;

-- name: order_in_a_sub_query
-- world: clinic
SELECT COUNT(*) AS n FROM (SELECT visit_id, cost FROM visits WHERE ward = 'A' ORDER BY cost DESC) AS dear;

-- name: order_in_a_cte
-- world: clinic
WITH a AS (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id ORDER BY n DESC) SELECT COUNT(*) AS people FROM a WHERE n > 2;
