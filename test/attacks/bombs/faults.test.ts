/** The texts of faults grow with the object, and not with its square: a fault in each item must not quote all items. */
import { expect, test } from "bun:test"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { Filler } from "./filler.ts"
import { faultsOf, statusFaultsOf } from "./fit.ts"
import { objectAt } from "./bombs.ts"
import { everyPlace, everyStatusPlace, type Place } from "./places.ts"
import { hasSample, sampleOf } from "./samples.ts"

const FEW = 40
const MANY = 4 * FEW
/** Four times as many items may have so many times as long texts: names grow with their numbers. */
const MOST_TIMES = 6
/** Shorter texts are not compared. */
const LEAST = 20_000

/** Items of a list, or entries of a map, that many rules refuse. */
const FAULTY: readonly (readonly [string, (filler: Filler, place: Place, i: number) => unknown])[] = [
  ["wrong texts", (_filler, { spec }, i) => (inner(spec.type).kind === "string" ? `!${i} ` : {})],
  ["the same text", (_filler, { spec }) => (inner(spec.type).kind === "string" ? "a" : {})],
  ["first guesses", (filler, { spec, path }, i) => filler.value(inner(spec.type), i, spec, path.at(-1))],
  ["the same guess", (filler, { spec, path }) => filler.value(inner(spec.type), 0, spec, path.at(-1))],
]
const inner = (type: Place["spec"]["type"]) => (type.kind === "list" || type.kind === "map" ? type.of : type)

const lists = (places: readonly Place[]) =>
  places.filter(({ spec: { type } }) => type.kind === "list" || type.kind === "map")
const resources = RESOURCES.filter(hasSample)

/** A fault that several items share was made once. */
const charactersOf = (causes: readonly Cause[]): number =>
  [...new Set(causes)].reduce((sum, { field = "", message }) => sum + field.length + message.length, 0)

test.each([
  ["objects", lists(everyPlace(resources)), faultsOf],
  [
    "statuses",
    lists(everyStatusPlace(resources)),
    (resource: Place["resource"], object: object) => statusFaultsOf(resource, sampleOf(resource), object),
  ],
] as const)(
  "no fault of an item in a list quotes the whole list, in all kinds of %s",
  (_title, places, faults) => {
    // given lists in which each item is faulty
    expect(places.length).toBeGreaterThan(60)
    const wrong: string[] = []
    for (const place of places)
      for (const [title, item] of FAULTY) {
        const filler = new Filler()
        const lengthWith = (n: number) => {
          const items = Array.from({ length: n }, (_, i) => item(filler, place, i))
          const value =
            place.spec.type.kind === "list" ? items : Object.fromEntries(items.map((each, i) => [`!${i} `, each]))
          return charactersOf(faults(place.resource, objectAt(place, filler, value)))
        }
        // when there are four times as many
        const [few, many] = [lengthWith(FEW), lengthWith(MANY)]
        if (many > LEAST && many > MOST_TIMES * few)
          wrong.push(`${place.resource.kind} ${place.path.join(".")} ${title}: ${few} → ${many}`)
      }
    // then the texts are some four times as long
    expect(wrong).toEqual([])
  },
  300_000,
)
