// Held back by V8's collector of young objects: each lives a little longer than the young generation has room for.
//
//     young.js [SCALE]
'use strict';

const scale = Number(process.argv[2] ?? 1);
const living = new Array(150000);
let sum = 0;
for (let turn = 0; turn < 4000000 * scale; turn++) {
    const row = { turn, cells: [turn, turn + 1, turn + 2], next: null };
    living[turn % living.length] = row;
    sum += row.cells[turn % 3] & 1;
}
console.log(sum);
