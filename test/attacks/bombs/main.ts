/**
 * `npm run bombs`: sends the largest objects that the server takes, for each field of each kind, to a whole cluster and
 * prints the longest turns of its event loop and the largest growths of its heap. `-- --kind Pod --title volumes`: only
 * those; `--pairs`: one object of each kind in which all lists are long; `--statuses`: the fields of statuses, by who
 * writes them; `--custom`: kinds of Gateway API, and definitions whose schemas multiply what an object has;
 * `--everywhere`: shared fields in each kind that has them; `--no-texts`: without texts.
 */
import { parseArgs } from "node:util"
import { appendFileSync } from "node:fs"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import { bombsOf, pairsOf, type Bomb } from "./bombs.ts"
import { definedBombs, gatewayBombs } from "./custom.ts"
import { ClusterProcess } from "./cluster-process.ts"
import { measure, prepare, type Effect } from "./measure.ts"
import { everyPlace, everyStatusPlace } from "./places.ts"
import { hasSample, hasFreeName } from "./samples.ts"

const { values } = parseArgs({
  allowNegative: true,
  options: {
    kind: { type: "string" },
    field: { type: "string" },
    title: { type: "string" },
    texts: { type: "boolean", default: true },
    not: { type: "string" },
    pairs: { type: "boolean", default: false },
    statuses: { type: "boolean", default: false },
    custom: { type: "boolean", default: false },
    everywhere: { type: "boolean", default: false },
    out: { type: "string" },
    profile: { type: "string" },
  },
})
/** So many bombs are measured together, as long as none is suspicious. */
const TOGETHER = 8
/** Milliseconds, and times the object. */
const SUSPICIOUS_MS = 60
const SUSPICIOUS_TIMES = 10

const places = (values.statuses ? everyStatusPlace : everyPlace)(RESOURCES.filter(hasSample), values.everywhere).filter(
  ({ resource, path, spec }) =>
    (values.kind === undefined || values.kind.split(",").includes(resource.kind)) &&
    (values.texts || spec.type.kind !== "string") &&
    (values.field === undefined || path.join(".").startsWith(values.field)),
)
const effects: Effect[] = []
const profiling = values.profile === undefined ? [] : ["--cpu-prof-md", "--cpu-prof-dir", values.profile]
const fresh = async (): Promise<ClusterProcess> => {
  const made = new ClusterProcess()
  await made.start(profiling)
  await prepare(made)
  return made
}
let cluster = await fresh()

async function one(bomb: Bomb): Promise<void> {
  const effect = await measure(cluster, [bomb])
  keep(effect)
  if (effect.ended === undefined) return
  console.log("ended", bomb.title, effect.ended.slice(0, 600))
  await cluster
    .restart()
    .catch((err: unknown) => console.log("no life after a restart:", bomb.title, String(err).slice(0, 300)))
  await cluster[Symbol.asyncDispose]()
  cluster = await fresh()
}

async function several(bombs: readonly Bomb[]): Promise<void> {
  if (bombs.length > 1) {
    const effect = await measure(cluster, bombs)
    const { createMs, laterMs, kept, bytes, ended } = effect
    if (
      ended === undefined &&
      Math.max(createMs, laterMs) < SUSPICIOUS_MS &&
      kept < Math.max(SUSPICIOUS_TIMES * bytes, 5e6)
    )
      return keep(effect)
    if (ended !== undefined) {
      await cluster[Symbol.asyncDispose]()
      cluster = await fresh()
    }
  }
  for (const bomb of bombs) await one(bomb)
}

function keep(effect: Effect): void {
  effects.push(effect)
  if (values.out !== undefined) appendFileSync(values.out, `${JSON.stringify(effect)}\n`)
}

if (values.custom) {
  for await (const bomb of gatewayBombs(() => cluster)) await one(bomb)
  for await (const bomb of definedBombs(
    () => cluster,
    (title) => title.includes(values.title ?? ""),
  ))
    await one(bomb)
}

const isWanted = ({ kind }: { readonly kind: string }) =>
  values.kind === undefined || values.kind.split(",").includes(kind)
const drafts = values.pairs
  ? [RESOURCES.filter((resource) => hasSample(resource) && isWanted(resource)).map(pairsOf)]
  : Iterator.from(values.custom ? [] : places).map(bombsOf)
const waiting: Bomb[] = []
for (const some of drafts)
  for (const draft of some) {
    if (values.title !== undefined && !draft.title.includes(values.title)) continue
    if (values.not !== undefined && new RegExp(values.not).test(draft.title)) continue
    const bomb = draft.make()
    if (bomb === undefined) continue
    if (!hasFreeName(bomb.resource) || bomb.title.includes("metadata.name ")) await one(bomb)
    else waiting.push(bomb)
    if (waiting.length >= TOGETHER) await several(waiting.splice(0))
  }
if (waiting.length > 0) await several(waiting)
if (values.profile !== undefined) await cluster.stop()
await cluster[Symbol.asyncDispose]()

const longestOf = ({ createMs, laterMs }: Effect) => Math.max(createMs, laterMs)
const growthOf = ({ kept, bytes }: Effect) => kept / bytes
const row = (e: Effect) =>
  `${e.createMs.toFixed(0).padStart(6)} ${e.laterMs.toFixed(0).padStart(6)} ms ${(e.kept / 1e6).toFixed(1).padStart(6)} MB of ${(e.bytes / 1e6).toFixed(1)} MB  ${e.statuses.join()} ${e.titles.join("; ").slice(0, 150)}`
const count = effects.flatMap(({ titles }) => titles).length
const admitted = effects.flatMap(({ statuses }) => statuses).filter((status) => status < 300).length
console.log(`${count} bombs, ${admitted} admitted`)
console.log("The longest turns:")
for (const e of effects.toSorted((a, b) => longestOf(b) - longestOf(a)).slice(0, 40)) console.log(row(e))
console.log("The largest growths of the heap, beside the object:")
for (const e of effects
  .filter(({ bytes }) => bytes > 50_000)
  .toSorted((a, b) => growthOf(b) - growthOf(a))
  .slice(0, 15))
  console.log(row(e))
