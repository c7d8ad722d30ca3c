-- Large tables: filled, indexed, joined, sorted and grouped. Prints the same every time; scale.n says how large.
create table item(id integer primary key, part text, town int, price int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < (select n * 1000 from scale))
insert into item select i, printf('part %d of %d', i * 7919 % 10007, i % 97), i * 31 % 499, i * 104729 % 9973 from n;
create index by_part on item(part);
create index by_town on item(town, price);
create table town(id integer primary key, name text);
insert into town select distinct town, 'town number ' || town from item;
select t.name, count(*), sum(i.price), max(i.part) from item i join town t on t.id = i.town
group by t.id order by 3 desc, 1 limit 10;
select substr(part, 1, 7) as stem, count(distinct town), group_concat(distinct price % 7) from item
group by stem order by 2 desc, 1 limit 10;
select count(*), sum(length(a.part)) from item a join item b on b.part = a.part and b.id > a.id;
select id, price from item order by price desc, part, id limit 10;
update item set part = upper(part) where town % 5 = 0;
select count(*), sum(price) from item where part > 'part 5';
