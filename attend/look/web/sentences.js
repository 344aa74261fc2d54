// Sentences that show something, by model: the picker over the views, and the pairs of the positions view. swapped is the
// same tokens in another order, with another meaning; link: two tokens of the source whose connection it is about.

const spoken = [
  { text: "I am a student of music.", why: "the alignment is nearly a diagonal" },
  { text: "The black cat sleeps.", why: "adjective and noun trade places: chat noir" },
  { text: "I do not understand.", why: "one word becomes two: ne … pas" },
  { text: "The man saw the dog.", swapped: "The dog saw the man.", why: "order decides who saw whom" },
  { text: "Tom loves Mary.", swapped: "Mary loves Tom.", why: "order decides who loves whom" },
  { text: "The animal did not cross the street because it was too tired.", why: "what is ‘it’? The animal, l’animal: il", link: ["it", "animal"] },
  { text: "The animal did not cross the street because it was too wide.", why: "what is ‘it’? The street, la rue: elle" },
  { text: "I did not buy the car because it was too expensive.", why: "what is ‘it’? The car is feminine: elle" },
  { text: "I did not buy the book because it was too expensive.", why: "what is ‘it’? The book is masculine: il" },
];
const table = {
  dates: [
    { text: "Tuesday, 3 March 1987", why: "the year comes last and is written first" },
    { text: "12/08/1956", swapped: "08/12/1956", why: "the same characters: order decides which is the month" },
    { text: "21.03.1945", swapped: "12.03.1954", why: "the same digits, another day and year" },
    { text: "the twenty-first of June 2005", why: "words become digits" },
    { text: "in 1999, on October 9", why: "the alignment is nearly a diagonal" },
  ],
  grammar: [
    { text: "the cat sees the dog .", swapped: "the dog sees the cat .", why: "the same words: order decides who sees whom" },
    { text: "the queen loves the king .", swapped: "the king loves the queen .", why: "order decides who loves whom" },
    { text: "the old cat sleeps .", why: "the verb comes first in Laro, the adjective behind its noun" },
    { text: "the cats near the dog sleep .", why: "the verb agrees with a noun four words away" },
    { text: "the wolf that the children fear runs .", why: "agreement over a clause" },
  ],
  numbers: [
    { text: "two thousand and seven", why: "zeros that nobody said" },
    { text: "four hundred and twenty-one", why: "read from left to right" },
  ],
  reverse: [
    { text: "moon river glass oak wind fish bread", why: "seven words: one vector gets crowded" },
    { text: "rose lamp sea", why: "three words: all three networks can" },
    { text: "rose lamp sea stone night", swapped: "night stone sea lamp rose", why: "five words, and the other way round" },
    { text: "apple boat cloud door earth fire grass hill ink jar", why: "ten words: too many for one vector" },
    { text: "stone tree moon apple river lamp night sea oak wind horse music", why: "twelve words" },
  ],
  "bert-sst2": [
    { text: "A gorgeous, witty and moving film.", why: "plain praise" },
    { text: "Not a single joke works.", why: "a negation" },
    { text: "The plot is dull, but the actors save it.", why: "two opinions: which one counts?" },
    { text: "It is not good, it is great.", swapped: "It is not great, it is good.", why: "the same words in another order" },
  ],
  bert: [
    { text: "The animal did not cross the [MASK] because it was tired.", why: "both sides say what is hidden" },
    { text: "Paris is the [MASK] of France.", why: "what it learned by heart" },
    { text: "She [MASK] to the station and took the train.", why: "a verb, and its tense from the other one" },
    { text: "The [MASK] bites the man.", swapped: "The man bites the [MASK].", why: "subject or object: order decides" },
  ],
  shakespeare: [
    { text: "The king is", why: "it writes letter by letter" },
    { text: "ROMEO: O, my", why: "a speaker's name, then a speech" },
    { text: "To be, or not to ", why: "words it may know" },
  ],
};

// Runs of recipes/minutes are called dates-transformer, grammar-gpt and so on.
export function sentencesOf(model) {
  const name = Object.keys(table).find(key => model.name === key || (model.name.startsWith(key + "-") && model.kind === "translation"));
  if (name) return table[name];
  if (model.kind === "translation" && /^(en|opus-mt-en)-/.test(model.name)) return spoken;
  return model.example ? [{ text: model.example, why: "to begin with" }] : [];
}
// Which language attend can make lines of for this model, if any.
export const languageOf = model => model.kind === "translation" ? ["dates", "grammar", "numbers", "reverse"].find(name => model.name === name || model.name.startsWith(name + "-")) : undefined;
