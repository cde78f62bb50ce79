CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE members AS
SELECT i AS id, 'member ' || i AS name, 5 + pick(i, 1) % 90 AS age, ['female', 'male', 'nonbinary', 'unspecified'][1 + pick(i, 2) % 4] AS gender,
  ['up-to-high-school', 'high-school-diploma', 'bachelors-associate', 'masters-degree', 'doctorate-professional'][1 + pick(i, 3) % 5] AS education_level,
  CASE WHEN i % 13 = 0 THEN NULL ELSE CAST(27701 + pick(i, 4) % 6 AS VARCHAR) END AS zip_code, pick(i, 5) % 60 AS books_borrowed,
  DATE '2015-01-01' + CAST(pick(i, 6) % 2500 AS INTEGER) AS date_joined
FROM range(1, 901) t(i);
CREATE TABLE checkouts AS
SELECT 1 + pick(i, 7) % 800 AS member_id, DATE '2022-01-01' + CAST(pick(i, 8) % 365 AS INTEGER) AS checkout_date,
  'Title ' || (pick(i, 9) % 12) AS title, 'Author ' || (pick(i, 9) % 12 % 4) AS author,
  ['Mystery', 'Romance', 'History', 'Science', 'Poetry'][1 + pick(i, 10) % 5] AS genre, 1 + pick(i, 11) % 30 AS days_kept
FROM range(3200) t(i);
CREATE TABLE zip_codes AS
SELECT CAST(27701 + i AS VARCHAR) AS zip_code, ['Durham', 'Raleigh', 'Cary'][1 + i % 3] AS city, 5000 + i * 1234 AS population FROM range(8) t(i);
