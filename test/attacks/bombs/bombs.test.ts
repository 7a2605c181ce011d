/**
 * The largest objects that the server takes, as many as CI has time for: those that once ended the process or stopped
 * it for seconds, and those of a few more fields. `npm run bombs` sends those of every field (main.ts).
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import { bombsOf, type Bomb } from "./bombs.ts"
import { definedBombs } from "./custom.ts"
import { ClusterProcess, TEST_LIMIT_MS } from "./cluster-process.ts"
import { measure, prepare } from "./measure.ts"
import { everyPlace } from "./places.ts"
import { hasSample } from "./samples.ts"

/**
 * Processor time of a turn, in milliseconds, and growth of the heap. `npm run bombs` tells the figures; these bounds
 * are wide enough for cold code on any machine, and narrow enough for anything that multiplies.
 */
const MOST_MS = 1000
const MOST_TIMES = 60
/** What an object that was refused may leave in caches, and what the heap varies by. Bytes. */
const MOST_KEPT = 30e6

const TITLES = [
  // Each port of a subset is at each of its addresses, and a table's cell once listed all of them before it took three.
  "Endpoints subsets all lists of one item",
  // A deletion once compared each finalizer with all others.
  "ConfigMap metadata.finalizers items",
  // Each port of a Service is at each of its external addresses.
  "Service spec all lists",
  "NetworkPolicy spec.ingress all lists of one item",
  "Secret data items",
  // Each mounted volume was once compared with all others, and so was each object that a pod names: such a pod stopped
  // the server for minutes, at each start.
  "Pod spec.volumes items",
  "Pod spec.initContainers.envFrom items",
]

const places = everyPlace(RESOURCES.filter(hasSample))
const bombs: Bomb[] = places.flatMap((place) =>
  [...bombsOf(place)].filter(({ title }) => TITLES.includes(title)).flatMap((draft) => draft.make() ?? []),
)

describe("a whole cluster", () => {
  let cluster: ClusterProcess
  beforeAll(async () => {
    cluster = new ClusterProcess()
    await cluster.start()
    await prepare(cluster)
    // What is measured is not the first run of cold code.
    await measure(cluster, bombs.slice(0, 1))
  }, TEST_LIMIT_MS)
  afterAll(() => cluster[Symbol.asyncDispose]())

  test("gets a bomb for many fields", () => {
    expect(places.length).toBeGreaterThan(800)
    expect(bombs.map(({ title }) => title.replace(/: \d+$/, "")).toSorted()).toEqual(TITLES.toSorted())
  })

  test.each(bombs.map((bomb) => [bomb.title, bomb] as const))(
    "works on while it has %s",
    async (_title, bomb) => {
      // when the largest object is created, changed, shown in a table and deleted
      const { statuses, createMs, laterMs, kept, bytes, ended } = await measure(cluster, [bomb])
      // then no turn of the event loop is long, and memory is that of the object
      expect({ statuses, ended }).toEqual({ statuses: [201], ended: undefined })
      expect(Math.max(createMs, laterMs)).toBeLessThan(MOST_MS)
      expect(kept / bytes).toBeLessThan(MOST_TIMES)
    },
    TEST_LIMIT_MS,
  )

  test(
    "works on while custom objects are sent whose definitions multiply what is in them",
    async () => {
      // Each of these once kept the server for minutes, or made gigabytes of JSON or of faults.
      const wanted = ["default of each item", "objects in an enum", "not in an enum", "required fields"]
      const seen: string[] = []
      for await (const bomb of definedBombs(
        () => cluster,
        (title) => wanted.includes(title),
      )) {
        // when such an object is sent
        const { createMs, kept, ended } = await measure(cluster, [bomb])
        // then it is refused, in a short turn, and leaves nothing
        expect({ ended, isShort: createMs < MOST_MS, isGone: kept < MOST_KEPT }).toEqual({
          ended: undefined,
          isShort: true,
          isGone: true,
        })
        seen.push(bomb.title)
      }
      expect(seen).toHaveLength(wanted.length)
    },
    TEST_LIMIT_MS,
  )

  test(
    "works on while a set of 200,000 numbers is created, applied and shown",
    async () => {
      // Such an apply once took ten seconds, in turns of half a second: sets of its fields were made again and again.
      for await (const bomb of definedBombs(
        () => cluster,
        (title) => title === "set of numbers",
      )) {
        // when
        const { statuses, laterMs, ended } = await measure(cluster, [bomb])
        // then
        expect({ statuses, ended }).toEqual({ statuses: [201], ended: undefined })
        expect(laterMs).toBeLessThan(MOST_MS)
      }
    },
    TEST_LIMIT_MS,
  )

  test(
    "starts again while it has the largest objects",
    async () => {
      // given objects that stay, of which one made a start impossible
      const stay = bombs.filter(({ title }) => /^(Endpoints|Pod spec.volumes)/.test(title))
      expect(stay).toHaveLength(2)
      for (const { resource, object } of stay) {
        const all = `/api/${resource.version}/namespaces/default/${resource.plural}`
        expect((await cluster.send("POST", all, object)).status).toBe(201)
      }
      // when the process is killed and started
      await cluster.restart()
      // then it is ready
      expect((await cluster.send("GET", "/readyz")).status).toBe(200)
    },
    TEST_LIMIT_MS,
  )
})
