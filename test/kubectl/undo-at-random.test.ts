/**
 * Random writes of one user, undone, against the state before. `npm run test:long` tries 500 of them; K3TS_UNDO_SEEDS
 * says how many, from K3TS_UNDO_FIRST on.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import {
  ConfigMap,
  Deployment,
  Secret,
  Service,
  startCluster,
  type Cluster,
} from "../../components/cluster/testing/testing.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { managersOf, withoutSystemFields } from "../../pkg/history/undo/system-fields.ts"

const SEEDS = Number(process.env["K3TS_UNDO_SEEDS"] ?? "8")
const FIRST = Number(process.env["K3TS_UNDO_FIRST"] ?? "0")
/** How many seeds share a cluster: each leaves a namespace whose controllers go on. */
const SEEDS_OF_CLUSTER = 20
const WRITES = 12

let cluster: Cluster
async function start() {
  cluster = await startCluster({ nodes: 1, seed: 1, history: "1h" })
  await cluster.kubectl("create clusterrolebinding people --clusterrole cluster-admin --user alice --user bob")
}
beforeAll(start)
afterAll(() => cluster.stop())

const KINDS: readonly Resource[] = [ConfigMap, Secret, Service, Deployment] as never

const NAMES = ["a", "b", "c"]

class Chance {
  readonly #random
  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }
  upTo = (most: number): number => Math.floor(this.#random.next() * most)
  of = <T>(values: readonly T[]): T => values[this.upTo(values.length)]!
}

const word = (chance: Chance) => chance.of(["red", "green", "blue"])

/** Fields of an object of a kind, at random. */
function fieldsOf(kind: string, name: string, chance: Chance): object {
  const maybe = (value: object) => (chance.upTo(2) === 0 ? value : {})
  const metadata = {
    ...maybe({ labels: { [word(chance)]: word(chance) } }),
    ...maybe({ annotations: { [word(chance)]: word(chance) } }),
  }
  switch (kind) {
    case "ConfigMap":
      return { metadata, data: { [word(chance)]: word(chance), ...maybe({ [word(chance)]: "x" }) } }
    case "Secret":
      return { metadata, stringData: { [word(chance)]: word(chance) } }
    case "Service":
      return {
        metadata,
        spec: { selector: { app: word(chance) }, ports: [{ name: "http", port: 80 + chance.upTo(3) }] },
      }
    default: {
      const env = [word(chance), "fixed"].map((each) => ({ name: each, value: word(chance) }))
      const containers = [{ name: "main", image: `${word(chance)}:1`, env }]
      return {
        metadata,
        spec: {
          replicas: chance.upTo(3),
          selector: { matchLabels: { app: name } },
          template: { metadata: { labels: { app: name } }, spec: { containers } },
        },
      }
    }
  }
}

/** Makes one write at random, as a user and a field manager; one that the server refuses is none. */
async function writeOnce(user: string, namespace: string, chance: Chance): Promise<void> {
  const { client } = cluster.contextFor(user)
  const [resource, name] = [chance.of(KINDS), chance.of(NAMES)]
  const ref = { namespace, name }
  const fields = fieldsOf(resource.kind, name, chance) as { readonly metadata: object }
  const body = {
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    ...fields,
    metadata: { ...fields.metadata, name, namespace },
  }
  const fieldManager = chance.of(["editor", "pipeline"])
  const write = [
    () => client.delete(resource, ref),
    () => client.create(resource, body as KubeObject, { fieldManager }),
    () => client.patch(resource, ref, { type: "merge", body: fields }, { fieldManager }),
    () => client.patch(resource, ref, { type: "apply", body }, { fieldManager, force: true }),
  ]
  await chance
    .of(write)()
    .catch(() => undefined)
}

/** Everything in a namespace but what its controllers make, without what belongs to the system. */
async function stateOf(namespace: string): Promise<readonly object[]> {
  const lists = await Promise.all(KINDS.map((kind) => cluster.client.list(kind, { namespace })))
  return lists
    .flatMap(({ items }) => items)
    .filter(({ metadata }) => metadata.name !== "kube-root-ca.crt")
    .map((object) => {
      const { metadata, ...rest } = withoutSystemFields(object)
      const managers = managersOf(object)
        .filter(({ subresource, manager }) => subresource === undefined && manager !== "deployment-controller")
        .map((entry) => ({ ...entry, time: undefined }))
      return { ...rest, metadata, managers }
    })
}

test.each(Array.from({ length: SEEDS }, (_, index) => FIRST + index))(
  "undoing what a user has written restores the state before it (seed %i)",
  async (seed) => {
    if (seed > FIRST && seed % SEEDS_OF_CLUSTER === 0) {
      await cluster.stop()
      await start()
    }
    // given a namespace with objects of others
    const chance = new Chance(seed)
    const namespace = `seed-${seed}`
    await cluster.kubectl(`create namespace ${namespace}`)
    for (let i = 0; i < WRITES; i++) await writeOnce("bob", namespace, chance)
    await cluster.advance("10s")
    const before = await stateOf(namespace)
    // when alice has written at random, while controllers follow, and all of it is undone
    const { revision } = cluster.history().at(-1)!
    for (let i = 0; i < WRITES; i++) {
      await writeOnce("alice", namespace, chance)
      if (chance.upTo(3) === 0) await cluster.advance("5s")
    }
    const { code, stdout, stderr } = await cluster.kubectl(
      `undo --user alice --since ${revision} -n ${namespace} --yes`,
    )
    // then nothing of it is left
    if (!stderr.includes("has written nothing")) expect([code, code === 0 ? "" : stdout, stderr]).toEqual([0, "", ""])
    await cluster.advance("10s")
    expect(await stateOf(namespace)).toEqual(before)
  },
)
