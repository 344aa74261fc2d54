// "It" in English and French sentences in which the end decides what it is: "The crane could not lift the rock because
// it was too heavy." and ".. too weak.". A property is of one kind of noun (what is salty is food), or the verb says
// whose it is (who lifts is weak, what is lifted is heavy). Nouns of both genders meet in every place. It is training
// data for translators: no verb of the sentences that judge them (tests/fixtures/pronouns) occurs here.
#include <fmt/core.h>

#include <span>
#include <vector>

#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

// What a noun is; a noun may be several.
enum Kind : unsigned {
  animal = 1u << 0,
  vehicle = 1u << 1,
  machine = 1u << 2,
  tool = 1u << 3,
  container = 1u << 4,
  furniture = 1u << 5,
  opening = 1u << 6,
  road = 1u << 7,
  water = 1u << 8,
  food = 1u << 9,
  clothing = 1u << 10,
  building = 1u << 11,
  writing = 1u << 12,
  group = 1u << 13,
  event = 1u << 14,
  medicine = 1u << 15,
  disease = 1u << 16,
  plant = 1u << 17,
  sky = 1u << 18,
  ground = 1u << 19,
};
constexpr unsigned kThings = tool | container | furniture | clothing;

struct Noun {
  std::string_view english, french;
  bool feminine;
  unsigned kinds;
};
constexpr Noun kNouns[] = {
    {"animal", "l'animal", false, animal},
    {"dog", "le chien", false, animal},
    {"cat", "le chat", false, animal},
    {"horse", "le cheval", false, animal},
    {"bird", "l'oiseau", false, animal},
    {"lion", "le lion", false, animal},
    {"wolf", "le loup", false, animal},
    {"bear", "l'ours", false, animal},
    {"donkey", "l'âne", false, animal},
    {"rabbit", "le lapin", false, animal},
    {"monkey", "le singe", false, animal},
    {"duck", "le canard", false, animal},
    {"fox", "le renard", false, animal},
    {"mouse", "la souris", true, animal},
    {"cow", "la vache", true, animal},
    {"goat", "la chèvre", true, animal},
    {"gazelle", "la gazelle", true, animal},
    {"hen", "la poule", true, animal},
    {"tortoise", "la tortue", true, animal},
    {"giraffe", "la girafe", true, animal},
    {"frog", "la grenouille", true, animal},
    {"owl", "la chouette", true, animal},
    {"truck", "le camion", false, vehicle},
    {"bus", "le bus", false, vehicle},
    {"train", "le train", false, vehicle},
    {"plane", "l'avion", false, vehicle},
    {"boat", "le bateau", false, vehicle},
    {"tractor", "le tracteur", false, vehicle},
    {"bicycle", "le vélo", false, vehicle},
    {"helicopter", "l'hélicoptère", false, vehicle},
    {"car", "la voiture", true, vehicle},
    {"motorbike", "la moto", true, vehicle},
    {"van", "la camionnette", true, vehicle},
    {"ambulance", "l'ambulance", true, vehicle},
    {"caravan", "la caravane", true, vehicle},
    {"machine", "la machine", true, machine},
    {"crane", "la grue", true, machine},
    {"pump", "la pompe", true, machine},
    {"drill", "la perceuse", true, machine},
    {"printer", "l'imprimante", true, machine},
    {"engine", "le moteur", false, machine},
    {"robot", "le robot", false, machine},
    {"lift", "l'ascenseur", false, machine},
    {"computer", "l'ordinateur", false, machine},
    {"knife", "le couteau", false, tool},
    {"hammer", "le marteau", false, tool},
    {"screwdriver", "le tournevis", false, tool},
    {"key", "la clé", true, tool},
    {"saw", "la scie", true, tool},
    {"needle", "l'aiguille", true, tool},
    {"axe", "la hache", true, tool},
    {"ladder", "l'échelle", true, tool | furniture},
    {"suitcase", "la valise", true, container},
    {"box", "la boîte", true, container},
    {"bottle", "la bouteille", true, container},
    {"cup", "la tasse", true, container},
    {"cage", "la cage", true, container},
    {"envelope", "l'enveloppe", true, container},
    {"wardrobe", "l'armoire", true, container | furniture},
    {"bag", "le sac", false, container},
    {"drawer", "le tiroir", false, container},
    {"glass", "le verre", false, container},
    {"basket", "le panier", false, container},
    {"safe", "le coffre-fort", false, container},
    {"frame", "le cadre", false, container},
    {"bucket", "le seau", false, container},
    {"chair", "la chaise", true, furniture},
    {"table", "la table", true, furniture},
    {"lamp", "la lampe", true, furniture},
    {"statue", "la statue", true, furniture},
    {"photo", "la photo", true, furniture},
    {"shelf", "l'étagère", true, furniture},
    {"bed", "le lit", false, furniture},
    {"desk", "le bureau", false, furniture},
    {"piano", "le piano", false, furniture},
    {"carpet", "le tapis", false, furniture},
    {"trophy", "le trophée", false, furniture},
    {"mirror", "le miroir", false, furniture},
    {"sofa", "le canapé", false, furniture},
    {"painting", "le tableau", false, furniture},
    {"door", "la porte", true, opening},
    {"gate", "la barrière", true, opening},
    {"window", "la fenêtre", true, opening},
    {"arch", "l'arche", true, opening},
    {"tunnel", "le tunnel", false, opening},
    {"corridor", "le couloir", false, opening},
    {"passage", "le passage", false, opening},
    {"hole", "le trou", false, opening},
    {"street", "la rue", true, road},
    {"road", "la route", true, road},
    {"runway", "la piste", true, road},
    {"motorway", "l'autoroute", true, road},
    {"path", "le chemin", false, road},
    {"trail", "le sentier", false, road},
    {"bridge", "le pont", false, road},
    {"river", "la rivière", true, water},
    {"bay", "la baie", true, water},
    {"sea", "la mer", true, water},
    {"water", "l'eau", true, water},
    {"lake", "le lac", false, water},
    {"stream", "le ruisseau", false, water},
    {"pond", "l'étang", false, water},
    {"canal", "le canal", false, water},
    {"soup", "la soupe", true, food},
    {"meat", "la viande", true, food},
    {"sauce", "la sauce", true, food},
    {"pear", "la poire", true, food},
    {"salad", "la salade", true, food},
    {"cake", "le gâteau", false, food},
    {"cheese", "le fromage", false, food},
    {"bread", "le pain", false, food},
    {"rice", "le riz", false, food},
    {"fish", "le poisson", false, food},
    {"shirt", "la chemise", true, clothing},
    {"dress", "la robe", true, clothing},
    {"jacket", "la veste", true, clothing},
    {"skirt", "la jupe", true, clothing},
    {"coat", "le manteau", false, clothing},
    {"hat", "le chapeau", false, clothing},
    {"pullover", "le pull", false, clothing},
    {"house", "la maison", true, building},
    {"room", "la pièce", true, building},
    {"tower", "la tour", true, building},
    {"church", "l'église", true, building},
    {"station", "la gare", true, building},
    {"factory", "l'usine", true, building},
    {"building", "le bâtiment", false, building},
    {"hotel", "l'hôtel", false, building},
    {"castle", "le château", false, building},
    {"museum", "le musée", false, building},
    {"theatre", "le théâtre", false, building},
    {"letter", "la lettre", true, writing},
    {"law", "la loi", true, writing},
    {"proposal", "la proposition", true, writing},
    {"question", "la question", true, writing},
    {"theory", "la théorie", true, writing},
    {"book", "le livre", false, writing},
    {"problem", "le problème", false, writing},
    {"report", "le rapport", false, writing},
    {"contract", "le contrat", false, writing},
    {"plan", "le plan", false, writing},
    {"company", "l'entreprise", true, group},
    {"team", "l'équipe", true, group},
    {"bank", "la banque", true, group},
    {"commission", "la commission", true, group},
    {"association", "l'association", true, group},
    {"club", "le club", false, group},
    {"government", "le gouvernement", false, group},
    {"committee", "le comité", false, group},
    {"ministry", "le ministère", false, group},
    {"match", "le match", false, event},
    {"concert", "le concert", false, event},
    {"festival", "le festival", false, event},
    {"journey", "le voyage", false, event},
    {"meeting", "la réunion", true, event},
    {"conference", "la conférence", true, event},
    {"race", "la course", true, event},
    {"election", "l'élection", true, event},
    {"medicine", "le médicament", false, medicine},
    {"treatment", "le traitement", false, medicine},
    {"vaccine", "le vaccin", false, medicine},
    {"therapy", "la thérapie", true, medicine},
    {"injection", "l'injection", true, medicine},
    {"disease", "la maladie", true, disease},
    {"infection", "l'infection", true, disease},
    {"fever", "la fièvre", true, disease},
    {"virus", "le virus", false, disease},
    {"cancer", "le cancer", false, disease},
    {"tree", "l'arbre", false, plant},
    {"oak", "le chêne", false, plant},
    {"bush", "le buisson", false, plant},
    {"branch", "la branche", true, plant},
    {"flower", "la fleur", true, plant},
    {"hedge", "la haie", true, plant},
    {"sun", "le soleil", false, sky},
    {"wind", "le vent", false, sky},
    {"rain", "la pluie", true, sky},
    {"storm", "la tempête", true, sky},
    {"snow", "la neige", true, ground},
    {"ice", "la glace", true, ground},
    {"hill", "la colline", true, ground},
    {"stone", "la pierre", true, ground},
    {"wall", "le mur", false, ground},
    {"rock", "le rocher", false, ground},
    {"sand", "le sable", false, ground},
};

// "tired", "fatigué", "fatiguée"; what French has (avoir faim) begins with a star.
struct Property {
  std::string_view english, masculine, feminine;
  bool too;  // "too tired"
  unsigned kinds;
};
constexpr Property kProperties[] = {
    {"tired", "fatigué", "fatiguée", true, animal | group},
    {"exhausted", "épuisé", "épuisée", false, animal | group},
    {"hungry", "*faim", "*faim", false, animal},
    {"thirsty", "*soif", "*soif", false, animal},
    {"afraid", "*peur", "*peur", false, animal},
    {"frightened", "effrayé", "effrayée", false, animal},
    {"ill", "malade", "malade", false, animal},
    {"nervous", "nerveux", "nerveuse", true, animal},
    {"lazy", "paresseux", "paresseuse", true, animal},
    {"shy", "timide", "timide", true, animal},
    {"asleep", "endormi", "endormie", false, animal},
    {"already full", "déjà rassasié", "déjà rassasiée", false, animal},
    {"limping", "blessé à la patte", "blessée à la patte", false, animal},
    {"out of control", "hors de contrôle", "hors de contrôle", false, vehicle | machine},
    {"running late", "en retard", "en retard", false, vehicle},
    {"out of petrol", "en panne d'essence", "en panne d'essence", false, vehicle},
    {"overloaded", "surchargé", "surchargée", false, vehicle},
    {"parked too close", "garé trop près", "garée trop près", false, vehicle},
    {"powerful", "puissant", "puissante", true, machine},
    {"switched off", "éteint", "éteinte", false, machine},
    {"faulty", "défectueux", "défectueuse", false, machine},
    {"noisy", "bruyant", "bruyante", true, machine | vehicle},
    {"blunt", "émoussé", "émoussée", true, tool},
    {"bent", "tordu", "tordue", false, tool},
    {"sharp", "tranchant", "tranchante", true, tool},
    {"rusty", "rouillé", "rouillée", true, tool | machine | vehicle},
    {"full", "plein", "pleine", true, container},
    {"empty", "vide", "vide", false, container | building},
    {"locked", "fermé à clé", "fermée à clé", false, container | opening | building},
    {"wobbly", "bancal", "bancale", true, furniture},
    {"dusty", "poussiéreux", "poussiéreuse", true, furniture},
    {"narrow", "étroit", "étroite", true, opening | road},
    {"closed", "fermé", "fermée", false, opening | building | road},
    {"blocked", "bloqué", "bloquée", false, opening | road},
    {"wide", "large", "large", true, road | water},
    {"slippery", "glissant", "glissante", true, road},
    {"flooded", "inondé", "inondée", false, road},
    {"covered with ice", "couvert de glace", "couverte de glace", false, road},
    {"steep", "raide", "raide", true, road},
    {"deep", "profond", "profonde", true, water},
    {"shallow", "peu profond", "peu profonde", true, water},
    {"polluted", "pollué", "polluée", false, water},
    {"dirty", "sale", "sale", true, water | clothing},
    {"frozen", "gelé", "gelée", false, water | food},
    {"rough", "agité", "agitée", true, water},
    {"salty", "salé", "salée", true, food},
    {"hot", "chaud", "chaude", true, food},
    {"raw", "cru", "crue", false, food},
    {"burnt", "brûlé", "brûlée", false, food},
    {"spicy", "épicé", "épicée", true, food},
    {"sweet", "sucré", "sucrée", true, food},
    {"rotten", "pourri", "pourrie", false, food | plant},
    {"colourful", "coloré", "colorée", true, clothing},
    {"torn", "déchiré", "déchirée", false, clothing},
    {"tight", "serré", "serrée", true, clothing},
    {"wet", "mouillé", "mouillée", true, clothing},
    {"on fire", "en feu", "en feu", false, building},
    {"falling apart", "en ruine", "en ruine", false, building},
    {"haunted", "hanté", "hantée", false, building},
    {"abandoned", "abandonné", "abandonnée", false, building},
    {"vague", "vague", "vague", true, writing},
    {"complex", "complexe", "complexe", true, writing},
    {"difficult", "difficile", "difficile", true, writing},
    {"badly written", "mal écrit", "mal écrite", false, writing},
    {"unfair", "injuste", "injuste", true, writing},
    {"bankrupt", "en faillite", "en faillite", false, group},
    {"divided", "divisé", "divisée", true, group},
    {"corrupt", "corrompu", "corrompue", true, group},
    {"in debt", "endetté", "endettée", false, group},
    {"cancelled", "annulé", "annulée", false, event},
    {"postponed", "reporté", "reportée", false, event},
    {"boring", "ennuyeux", "ennuyeuse", true, event | writing},
    {"sold out", "complet", "complète", false, event},
    {"expired", "périmé", "périmée", false, medicine},
    {"weak", "faible", "faible", true, medicine},
    {"ineffective", "inefficace", "inefficace", true, medicine},
    {"serious", "grave", "grave", true, disease},
    {"contagious", "contagieux", "contagieuse", true, disease},
    {"incurable", "incurable", "incurable", false, disease},
    {"dead", "mort", "morte", false, plant},
    {"low", "bas", "basse", true, sky},
    {"violent", "violent", "violente", true, sky},
    {"thick", "épais", "épaisse", true, ground},
    {"hard", "dur", "dure", true, ground},
};

// Properties of who does it, and of what it is done to, where the verb and not the noun decides.
constexpr Property kTooLarge[] = {{"big", "gros", "grosse", true, 0},
                                  {"large", "grand", "grande", true, 0},
                                  {"wide", "large", "large", true, 0},
                                  {"long", "long", "longue", true, 0},
                                  {"tall", "haut", "haute", true, 0},
                                  {"thick", "épais", "épaisse", true, 0},
                                  {"bulky", "encombrant", "encombrante", true, 0}};
constexpr Property kTooTight[] = {{"small", "petit", "petite", true, 0},
                                  {"narrow", "étroit", "étroite", true, 0},
                                  {"full", "plein", "pleine", true, 0},
                                  {"tight", "serré", "serrée", true, 0}};
constexpr Property kTooHigh[] = {{"high", "haut", "haute", true, 0}, {"tall", "haut", "haute", true, 0}};
constexpr Property kTooLow[] = {{"low", "bas", "basse", true, 0}};
constexpr Property kFaster[] = {{"faster", "plus rapide", "plus rapide", false, 0},
                                {"stronger", "plus fort", "plus forte", false, 0}};
constexpr Property kSlower[] = {{"slower", "plus lent", "plus lente", false, 0},
                                {"weaker", "plus faible", "plus faible", false, 0}};
constexpr Property kTooWeak[] = {{"weak", "faible", "faible", true, 0},
                                 {"small", "petit", "petite", true, 0},
                                 {"tired", "fatigué", "fatiguée", true, 0}};
constexpr Property kTooHeavy[] = {{"heavy", "lourd", "lourde", true, 0},
                                  {"large", "grand", "grande", true, 0},
                                  {"slippery", "glissant", "glissante", true, 0}};
constexpr Property kTooForceful[] = {{"powerful", "puissant", "puissante", true, 0},
                                     {"heavy", "lourd", "lourde", true, 0},
                                     {"fast", "rapide", "rapide", true, 0}};
constexpr Property kTooFragile[] = {{"fragile", "fragile", "fragile", true, 0},
                                    {"thin", "mince", "mince", true, 0},
                                    {"old", "vieux", "vieille", true, 0}};
constexpr Property kHunters[] = {{"hungry", "*faim", "*faim", false, 0},
                                 {"angry", "en colère", "en colère", false, 0},
                                 {"aggressive", "agressif", "agressive", true, 0}};
constexpr Property kHunted[] = {{"weak", "faible", "faible", true, 0},
                                {"injured", "blessé", "blessée", false, 0},
                                {"alone", "seul", "seule", false, 0}};
constexpr Property kSlowHunters[] = {{"slow", "lent", "lente", true, 0},
                                     {"tired", "fatigué", "fatiguée", true, 0},
                                     {"already full", "déjà rassasié", "déjà rassasiée", false, 0},
                                     {"lazy", "paresseux", "paresseuse", true, 0}};
constexpr Property kFastGame[] = {{"fast", "rapide", "rapide", true, 0},
                                  {"agile", "agile", "agile", true, 0},
                                  {"well hidden", "bien caché", "bien cachée", false, 0}};
constexpr Property kFearful[] = {{"frightened", "effrayé", "effrayée", false, 0},
                                 {"afraid", "*peur", "*peur", false, 0},
                                 {"shy", "timide", "timide", true, 0}};
constexpr Property kFeared[] = {{"hungry", "*faim", "*faim", false, 0},
                                {"angry", "en colère", "en colère", false, 0},
                                {"dangerous", "dangereux", "dangereuse", true, 0}};

// Without properties of its own, a verb takes one that only one of its two nouns can have.
struct Verb {
  std::string_view english, masculine, feminine;  // the French agrees with the subject
  unsigned subjects, objects;
  std::span<const Property> of_subject = {}, of_object = {};
};
constexpr unsigned kMovers = animal | vehicle, kCarried = furniture | container | plant;
const Verb kVerbs[] = {
    {"got stuck in", "est resté coincé dans", "est restée coincée dans", furniture | vehicle, opening, kTooLarge,
     kTooTight},
    {"had no room in", "n'avait pas de place dans", "n'avait pas de place dans", kThings, container, kTooLarge,
     kTooTight},
    {"had no room in", "n'avait pas de place dans", "n'avait pas de place dans", furniture, building, kTooLarge,
     kTooTight},
    {"could not be squeezed into", "n'a pas pu être casé dans", "n'a pas pu être casée dans", kThings, container,
     kTooLarge, kTooTight},
    {"did not pass through", "n'est pas passé par", "n'est pas passée par", furniture | vehicle, opening, kTooLarge,
     kTooTight},
    {"could not be pushed under", "n'a pas pu être poussé sous", "n'a pas pu être poussée sous", furniture | container,
     furniture, kTooHigh, kTooLow},
    {"beat", "a battu", "a battu", vehicle, vehicle, kFaster, kSlower},
    {"beat", "a battu", "a battu", animal, animal, kFaster, kSlower},
    {"could not keep up with", "n'a pas pu suivre", "n'a pas pu suivre", vehicle, vehicle, kSlower, kFaster},
    {"could not keep up with", "n'a pas pu suivre", "n'a pas pu suivre", animal, animal, kSlower, kFaster},
    {"could not lift", "n'a pas pu soulever", "n'a pas pu soulever", animal | machine, kCarried, kTooWeak, kTooHeavy},
    {"could not pull", "n'a pas pu tirer", "n'a pas pu tirer", animal | machine, kCarried | vehicle, kTooWeak,
     kTooHeavy},
    {"did not hold", "n'a pas retenu", "n'a pas retenu", machine | plant, kCarried, kTooWeak, kTooHeavy},
    {"damaged", "a endommagé", "a endommagé", vehicle | machine, furniture | opening, kTooForceful, kTooFragile},
    {"crushed", "a écrasé", "a écrasé", vehicle | machine, container | furniture, kTooForceful, kTooFragile},
    {"attacked", "a attaqué", "a attaqué", animal, animal, kHunters, kHunted},
    {"did not catch", "n'a pas attrapé", "n'a pas attrapé", animal, animal, kSlowHunters, kFastGame},
    {"hid behind", "s'est caché derrière", "s'est cachée derrière", animal, plant | furniture},
    {"avoided", "a évité", "a évité", animal, animal, kFearful, kFeared},
    {"did not taste", "n'a pas goûté", "n'a pas goûté", animal, food},
    {"refused", "a refusé", "a refusé", animal, food},
    {"did not touch", "n'a pas touché", "n'a pas touché", animal, food | water | container | clothing},
    {"avoided", "a évité", "a évité", kMovers, road | water | building},
    {"did not take", "n'a pas pris", "n'a pas pris", kMovers, road},
    {"did not reach", "n'a pas atteint", "n'a pas atteint", kMovers, road | water | building},
    {"waited near", "a attendu près de", "a attendu près de", kMovers, building | opening},
    {"did not pierce", "n'a pas percé", "n'a pas percé", tool | machine, food | clothing | ground},
    {"could not turn", "n'a pas pu tourner", "n'a pas pu tourner", tool, machine | opening},
    {"slid along", "a glissé le long de", "a glissé le long de", tool, ground | food},
    {"scratched", "a rayé", "a rayé", tool | animal, furniture | vehicle},
    {"looked strange with", "faisait bizarre avec", "faisait bizarre avec", clothing, furniture | opening},
    {"rejected", "a rejeté", "a rejeté", group, writing},
    {"did not discuss", "n'a pas discuté", "n'a pas discuté", group, writing | event},
    {"did not finance", "n'a pas financé", "n'a pas financé", group, building | event | medicine},
    {"gave up", "a abandonné", "a abandonné", group, building | writing | machine},
    {"lost", "a perdu", "a perdu", group, event},
    {"did not explain", "n'a pas expliqué", "n'a pas expliqué", writing, disease | event},
    {"did not stop", "n'a pas arrêté", "n'a pas arrêté", medicine, disease},
    {"slowed down", "a ralenti", "a ralenti", medicine, disease},
    {"came too late for", "est arrivé trop tard pour", "est arrivée trop tard pour", vehicle, event},
    {"damaged", "a endommagé", "a endommagé", plant | sky, vehicle | building | container},
    {"did not warm", "n'a pas réchauffé", "n'a pas réchauffé", sky, water | building | ground},
    {"did not move", "n'a pas déplacé", "n'a pas déplacé", sky | machine, ground | plant},
};

struct Link {
  std::string_view english, french;  // up to "it" and to il or elle
};
constexpr Link kLinks[] = {{" because it ", " parce qu'"}, {" because it ", " parce qu'"},
                           {" because it ", " parce qu'"}, {" since it ", " puisqu'"},
                           {", for it ", ", car "},        {". It ", ". "}};

const Noun& noun_of(TextRandom& random, unsigned kinds) {
  for (;;)
    if (const Noun& noun = kNouns[random.below(static_cast<int>(std::size(kNouns)))]; noun.kinds & kinds) return noun;
}

// "près de" + "le" = "près du".
std::string contracted(std::string text) {
  for (const std::string_view article : {" de le ", " de les "})
    if (const auto at = text.find(article); at != std::string::npos)
      text.replace(at, article.size(), article == " de le " ? " du " : " des ");
  return text;
}

std::string capital(std::string text) {
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// Of `who`, and where the noun decides, not of the other one.
std::vector<const Property*> properties_of(const Verb& verb, bool of_subject, const Noun& who, const Noun& other) {
  std::vector<const Property*> found;
  if (!verb.of_subject.empty()) {
    for (const Property& property : of_subject ? verb.of_subject : verb.of_object) found.push_back(&property);
  } else {
    for (const Property& property : kProperties)
      if ((property.kinds & who.kinds) && !(property.kinds & other.kinds)) found.push_back(&property);
  }
  return found;
}

// "était trop fatigué", "n'avait pas faim"
std::string predicate(std::string_view word, bool too, bool not_so) {
  const bool has = word.starts_with('*');
  if (has) word.remove_prefix(1);
  return fmt::format("{}{}{}{}{}", not_so ? "n'" : "", has ? "avait" : "était", not_so ? " pas" : "",
                     too ? (has ? " très " : " trop ") : " ", word);
}

}  // namespace

TextPair make_coreference(TextRandom& random) {
  const Verb& verb = kVerbs[random.below(static_cast<int>(std::size(kVerbs)))];
  const bool of_subject = random.one_in(2);
  const Noun *subject = nullptr, *object = nullptr;
  std::vector<const Property*> properties;
  while (properties.empty()) {
    subject = &noun_of(random, verb.subjects), object = &noun_of(random, verb.objects);
    if (subject != object)
      properties = properties_of(verb, of_subject, of_subject ? *subject : *object, of_subject ? *object : *subject);
  }
  const Property* property = properties[static_cast<std::size_t>(random.below(static_cast<int>(properties.size())))];
  const Link& link = kLinks[random.below(static_cast<int>(std::size(kLinks)))];
  const bool feminine = (of_subject ? subject : object)->feminine;
  const bool too = property->too && !random.one_in(4), not_so = verb.of_subject.empty() && !too && random.one_in(8);
  std::string french = contracted(
      fmt::format("{} {} {}", subject->french, subject->feminine ? verb.feminine : verb.masculine, object->french));
  const std::string pronoun = feminine ? "elle" : "il";
  return {fmt::format("The {} {} the {}{}was {}{}{}.", subject->english, verb.english, object->english, link.english,
                      not_so ? "not " : "", too ? "too " : "", property->english),
          fmt::format("{}{}{} {}.", capital(std::move(french)), link.french,
                      link.french.starts_with('.') ? capital(pronoun) : pronoun,
                      predicate(feminine ? property->feminine : property->masculine, too, not_so))};
}

}  // namespace attend::data
