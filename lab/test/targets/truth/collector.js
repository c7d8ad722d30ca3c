// A program whose time is V8's garbage collector's, in part: objects that live for a round, beside a heap that
// stays. Cured, a round writes over the objects of the last. Its words are as in modes.h.
const [mode, scale, word] = process.argv.slice(2);
const cured = word === "cured";
const OBJECTS = 100000;

function rounds() {
  const live = [];
  for (let at = 0; at < 2 * OBJECTS; at++) live.push({ at, text: `x${at % 1000}` });
  let sum = 0;
  let made = [];
  for (let turn = 0; turn < Number(scale) * 120; turn++) {
    if (!cured) made = [];
    for (let at = 0; at < OBJECTS; at++) {
      if (made.length > at) made[at].value = at + turn;
      else made.push({ value: at + turn, next: null });
    }
    for (const each of made) sum += each.value;
  }
  return sum + live.length;
}

if (mode !== "rounds") process.exit(2);
console.log(rounds());
