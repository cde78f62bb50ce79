-- Questions as Tumult's tutorials ask them, written in SQL: a library, its members and what they borrow.

-- name: total_members
-- world: library
SELECT COUNT(*) AS total_members FROM members;

-- name: minors
-- world: library
SELECT COUNT(*) AS count FROM members WHERE age < 18;

-- name: members_by_age_and_gender_of_teens
-- world: library
SELECT age, gender, COUNT(*) AS count FROM members WHERE age >= 14 AND age <= 18 GROUP BY age, gender ORDER BY age, gender;

-- name: books_by_education
-- world: library
SELECT education_level, SUM(books_borrowed) AS books, AVG(books_borrowed) AS mean_books FROM members GROUP BY education_level ORDER BY education_level;

-- name: deviation_of_age
-- world: library
SELECT education_level, STDDEV(age) AS age_stdev, VARIANCE(age) AS age_variance FROM members GROUP BY ALL ORDER BY education_level;

-- name: median_age
-- world: library
-- close: 0.05
SELECT MEDIAN(age) AS median_age FROM members;

-- name: quartiles_by_gender
-- world: library
-- close: 0.06
SELECT gender, QUANTILE_CONT(books_borrowed, 0.25) AS low, QUANTILE_CONT(books_borrowed, 0.75) AS high FROM members GROUP BY gender ORDER BY gender;

-- name: age_in_bins
-- world: library
-- plain: SELECT CAST(FLOOR(age / 10) * 10 AS BIGINT) AS age_binned, COUNT(*) AS count FROM members WHERE age >= 10 AND age < 90 GROUP BY age_binned ORDER BY age_binned
SELECT FLOOR(age / 10) * 10 AS age_binned, COUNT(*) AS count FROM members WHERE age >= 10 AND age < 90 GROUP BY age_binned ORDER BY age_binned;

-- name: members_by_city
-- world: library
SELECT city, COUNT(*) AS count FROM members INNER JOIN zip_codes ON members.zip_code = zip_codes.zip_code GROUP BY city ORDER BY city;

-- name: members_per_thousand_residents
-- world: library
WITH m AS (SELECT zip_code, COUNT(*) AS members FROM members WHERE zip_code IS NOT NULL GROUP BY zip_code)
SELECT z.zip_code, 1000.0 * m.members / z.population AS per_thousand FROM m JOIN zip_codes AS z ON m.zip_code = z.zip_code ORDER BY z.zip_code;

-- name: checkouts_by_genre
-- world: library
SELECT genre, COUNT(*) AS checkouts, COUNT(DISTINCT member_id) AS borrowers FROM checkouts GROUP BY genre ORDER BY genre;

-- name: checkouts_by_education
-- world: library
SELECT m.education_level, COUNT(*) AS checkouts FROM checkouts c JOIN members m ON c.member_id = m.id GROUP BY m.education_level ORDER BY m.education_level;

-- name: average_checkouts_per_member
-- world: library
SELECT AVG(n) AS mean_checkouts FROM (SELECT member_id, COUNT(*) AS n FROM checkouts GROUP BY member_id) AS per_member;

-- name: popular_titles
-- world: library
SELECT title, author, COUNT(*) AS n FROM checkouts GROUP BY title, author ORDER BY title;

-- name: new_members_by_year
-- world: library
SELECT YEAR(date_joined) AS joining_year, COUNT(*) AS joined FROM members WHERE date_joined < DATE '2021-01-01' GROUP BY joining_year ORDER BY joining_year;

-- name: most_recent_checkouts_only
-- world: library
SELECT genre, COUNT(*) AS n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY member_id ORDER BY checkout_date DESC, title, genre) AS nth FROM checkouts) AS c WHERE nth <= 2 GROUP BY genre ORDER BY genre;

-- name: members_without_checkouts
-- world: library
SELECT gender, COUNT(*) AS n FROM members WHERE id NOT IN (SELECT member_id FROM checkouts) GROUP BY gender ORDER BY gender;

-- name: missing_zip_codes
-- world: library
SELECT COUNT(*) AS n FROM members WHERE zip_code IS NULL;

-- name: unlisted_titles
-- world: library
-- refused: single rows
SELECT title FROM checkouts WHERE member_id = 17;

-- name: names_of_heavy_readers
-- world: library
-- refused: single rows
SELECT name, books_borrowed FROM members WHERE books_borrowed > 50 ORDER BY books_borrowed DESC;
