-- Item 8: sub-queries about public tables: IN, EXISTS, scalar; and questions about public tables alone.

-- name: in_public
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor = 2);

-- name: not_in_public
-- world: clinic
SELECT ward, COUNT(*) AS n FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE floor >= 2) GROUP BY ward;

-- name: in_public_by_number
-- world: clinic
SELECT SUM(days) AS days FROM prescriptions WHERE drug_id IN (SELECT drug_id FROM drugs WHERE family = 'opioid' AND price > 5);

-- name: in_public_with_nulls
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE nights NOT IN (SELECT beds FROM wards);

-- name: in_public_distinct
-- world: shop
SELECT Channel, COUNT(*) AS n FROM Orders WHERE ProductID IN (SELECT DISTINCT ProductID FROM Products WHERE Category = 'Lamps') GROUP BY Channel;

-- name: exists_public
-- world: clinic
SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND w.beds > 28);

-- name: not_exists_public
-- world: clinic
SELECT COUNT(*) AS n FROM prescriptions r WHERE NOT EXISTS (SELECT * FROM drugs d WHERE d.drug_id = r.drug_id AND d.family = 'statin');

-- name: exists_with_an_inequality
-- world: clinic
SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND v.nights > w.floor * 3);

-- name: scalar_public
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE nights > (SELECT AVG(floor) FROM wards);

-- name: scalar_public_maximum
-- world: shop
SELECT COUNT(*) AS n FROM Orders WHERE "Unit Price" > (SELECT MAX(ListPrice) FROM Products);

-- name: scalar_public_in_the_select_list
-- world: clinic
SELECT COUNT(*) * 1.0 / (SELECT SUM(beds) FROM wards) AS per_bed FROM visits;

-- name: scalar_public_inside_an_aggregate
-- world: clinic
SELECT SUM(nights * (SELECT MAX(floor) FROM wards)) AS n FROM visits;

-- name: correlated_scalar_public
-- world: clinic
SELECT SUM(r.dose * (SELECT d.price FROM drugs d WHERE d.drug_id = r.drug_id)) AS spent FROM prescriptions r;

-- name: any_of_public
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE ward = ANY (SELECT ward FROM wards WHERE title LIKE '%s');

-- name: nested_public
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor = (SELECT MIN(floor) FROM wards));

-- name: in_a_grouped_public_query
-- world: clinic
SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward
WHERE w.floor IN (SELECT floor FROM wards GROUP BY floor HAVING COUNT(*) > 1);

-- name: join_with_a_public_sub_query
-- world: clinic
SELECT f.floor, COUNT(*) AS n
FROM visits v JOIN (SELECT ward, floor FROM wards WHERE beds IS NOT NULL) f ON f.ward = v.ward
GROUP BY f.floor;

-- name: join_with_a_grouped_public_sub_query
-- world: shop
SELECT c.Category, SUM(o.Quantity * c.mean) AS worth
FROM Orders o JOIN Products p ON p.ProductID = o.ProductID
JOIN (SELECT Category, AVG(ListPrice) AS mean FROM Products GROUP BY Category) c ON c.Category = p.Category
GROUP BY c.Category;

-- name: public_cte
-- world: clinic
WITH cheap AS (SELECT drug_id FROM drugs WHERE price < 10) SELECT COUNT(*) AS n FROM prescriptions WHERE drug_id IN (SELECT drug_id FROM cheap);

-- name: public_alone
-- world: clinic
SELECT family, COUNT(*) AS n, AVG(price) AS price FROM drugs GROUP BY family ORDER BY family;

-- name: rows_of_a_public_table
-- world: clinic
SELECT title, beds FROM wards WHERE floor < 3 ORDER BY title;

-- name: two_public_conditions
-- world: bikes
SELECT COUNT(*) AS n FROM trips
WHERE from_station IN (SELECT station_id FROM stations WHERE district = 'east') AND to_station NOT IN (SELECT station_id FROM stations WHERE district = 'east');

-- name: in_public_under_or
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE km > 20 OR from_station IN (SELECT station_id FROM stations WHERE docks > 30);

-- name: in_public_inside_a_case
-- world: bikes
SELECT SUM(CASE WHEN from_station IN (SELECT station_id FROM stations WHERE district = 'north') THEN price ELSE 0 END) AS income FROM trips;

-- name: public_scalar_date
-- world: bikes
SELECT COUNT(*) AS n FROM trips t JOIN stations s ON s.station_id = t.from_station WHERE s.opened > (SELECT MIN(opened) + INTERVAL 3 YEAR FROM stations);

-- name: exists_public_twice
-- world: bikes
SELECT r.tariff, COUNT(*) AS n
FROM trips t JOIN riders r ON r.rider_id = t.rider_id
WHERE EXISTS (SELECT 1 FROM stations a WHERE a.station_id = t.from_station AND a.docks >= 20)
  AND NOT EXISTS (SELECT 1 FROM stations b WHERE b.station_id = t.to_station AND b.district = 'west')
GROUP BY r.tariff;

-- name: greater_than_all_public
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE from_station > ALL (SELECT station_id FROM stations WHERE district = 'north' AND station_id < 6);

-- name: pair_in_public
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE (from_station, to_station) IN (SELECT a.station_id, b.station_id FROM stations a, stations b WHERE a.district = b.district);

-- name: public_union
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE from_station IN (SELECT station_id FROM stations WHERE docks > 40 UNION SELECT station_id FROM stations WHERE district = 'west');

-- name: public_left_join_then_private
-- world: bikes
SELECT s.district, COUNT(t.trip_id) AS n FROM stations s LEFT JOIN trips t ON t.from_station = s.station_id GROUP BY s.district ORDER BY s.district;

-- name: public_top_rows
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE from_station IN (SELECT station_id FROM stations ORDER BY docks DESC NULLS LAST, station_id LIMIT 3);

-- name: group_of_a_public_scalar
-- world: bikes
SELECT from_station <= (SELECT AVG(station_id) FROM stations) AS low, COUNT(*) AS n FROM trips GROUP BY 1;

-- name: public_alone_grouped_and_ordered
-- world: clinic
SELECT family, COUNT(*) AS n, AVG(price) AS price FROM drugs GROUP BY family HAVING COUNT(*) > 1 ORDER BY n DESC, family;

-- name: public_alone_star
-- world: clinic
SELECT * FROM wards ORDER BY ward;

-- name: public_alone_distinct
-- world: clinic
SELECT DISTINCT family FROM drugs ORDER BY family;

-- name: public_alone_count_distinct
-- world: clinic
SELECT COUNT(DISTINCT family) AS families, MIN(price) AS low, MAX(price) AS high, SUM(price) AS total FROM drugs;

-- name: public_alone_top_rows
-- world: clinic
SELECT drug, price FROM drugs ORDER BY price DESC, drug LIMIT 3;

-- name: public_alone_window
-- world: clinic
SELECT drug, RANK() OVER (PARTITION BY family ORDER BY price DESC) AS place FROM drugs ORDER BY drug;

-- name: public_alone_above_the_mean
-- world: clinic
SELECT drug FROM drugs WHERE price > (SELECT AVG(price) FROM drugs) ORDER BY drug;

-- name: public_alone_correlated
-- world: clinic
SELECT d.family, d.drug FROM drugs d WHERE d.price = (SELECT MAX(e.price) FROM drugs e WHERE e.family = d.family) ORDER BY d.family, d.drug;

-- name: public_alone_exists
-- world: clinic
SELECT w.title FROM wards w WHERE EXISTS (SELECT 1 FROM wards v WHERE v.floor = w.floor AND v.ward <> w.ward) ORDER BY 1;

-- name: public_alone_case_and_texts
-- world: clinic
SELECT UPPER(title) AS t, CASE WHEN beds >= 20 THEN 'large' ELSE 'small' END AS size FROM wards WHERE title LIKE '%s' ORDER BY t;

-- name: public_alone_cte
-- world: clinic
WITH dear AS (SELECT family, AVG(price) AS mean FROM drugs GROUP BY family) SELECT family, mean FROM dear ORDER BY mean DESC LIMIT 1;

-- name: public_alone_union
-- world: clinic
SELECT ward AS name FROM wards WHERE floor > 1 UNION SELECT family FROM drugs ORDER BY name;

-- name: public_alone_self_join
-- world: clinic
SELECT a.ward, b.ward AS other FROM wards a JOIN wards b ON a.floor = b.floor AND a.ward < b.ward ORDER BY 1, 2;

-- name: public_alone_share
-- world: clinic
SELECT family, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM drugs) AS share FROM drugs GROUP BY family ORDER BY family;

-- name: public_alone_aggregate_of_aggregates
-- world: clinic
SELECT MAX(n) AS most FROM (SELECT family, COUNT(*) AS n FROM drugs GROUP BY family) AS g;

-- name: public_alone_left_join
-- world: clinic
SELECT w.ward, COUNT(d.drug_id) AS n FROM wards w LEFT JOIN drugs d ON d.price > w.beds GROUP BY w.ward ORDER BY w.ward;

-- name: public_alone_no_rows
-- world: clinic
SELECT title FROM wards WHERE floor > 100;

-- name: public_alone_median
-- world: clinic
SELECT family, MEDIAN(price) AS m FROM drugs GROUP BY family ORDER BY family;

-- name: private_rows_beside_public_ones
-- world: clinic
-- refused: unsupported
SELECT ward, (SELECT COUNT(*) FROM visits) AS n FROM wards;

-- name: different_from_all_of_public
-- world: clinic
SELECT COUNT(*) AS n FROM visits WHERE ward <> ALL (SELECT ward FROM wards WHERE floor = 1);

-- name: equal_to_some_of_public
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits WHERE ward = ANY (SELECT ward FROM wards WHERE floor >= 1)
SELECT COUNT(*) AS n FROM visits WHERE ward = SOME (SELECT ward FROM wards WHERE floor >= 1);

-- name: join_with_the_first_public_rows
-- world: clinic
SELECT d.drug, COUNT(*) AS n FROM prescriptions p JOIN (SELECT drug_id, drug FROM drugs ORDER BY price DESC, drug_id LIMIT 3) d ON d.drug_id = p.drug_id GROUP BY d.drug ORDER BY d.drug;

-- name: second_page_of_public_rows
-- world: clinic
SELECT COUNT(*) AS n FROM prescriptions WHERE drug_id IN (SELECT drug_id FROM drugs ORDER BY drug_id LIMIT 4 OFFSET 2);

-- name: ranked_public_rows
-- world: clinic
SELECT COUNT(*) AS n FROM prescriptions p JOIN (SELECT drug_id, ROW_NUMBER() OVER (ORDER BY price, drug_id) AS place FROM drugs) r ON r.drug_id = p.drug_id WHERE r.place <= 5;
