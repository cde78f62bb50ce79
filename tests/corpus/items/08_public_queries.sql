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
