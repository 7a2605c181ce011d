/** What a test cluster takes over from a snapshot of a real one. */
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { isOfKubelet } from "../../../pkg/api/core/v1/node/node-labels.ts"
import { ServiceCIDR } from "../../../pkg/api/networking/v1/servicecidr.ts"
import type { FeatureName } from "../../../pkg/component/features.ts"
import type { SnapshotObject } from "../../../pkg/snapshot/records.ts"
import { isSealed, opened, type ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import type { Beginning } from "../../../pkg/storage/memory.ts"
import type { ApiServer } from "../../apiserver/apiserver.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { parseStored } from "../../apiserver/store/parse-stored.ts"
import { TestClusterError } from "./caller.ts"
import { nodeSpec, type NodeSpec } from "./options/node-spec.ts"
import type { RunningNodes } from "./nodes/running-nodes.ts"

/** A path or file URL of a snapshot, or its bytes. */
export type SnapshotInput = string | URL | Uint8Array

export interface ClusterSnapshot {
  /** When it was taken, in milliseconds since the epoch. */
  readonly time: number
  readonly beginning: Beginning
  /** Its nodes as simulated ones, and their addresses. */
  readonly nodes: readonly { readonly spec: NodeSpec; readonly ips: readonly string[] }[]
  /** The ranges of Services; empty for those of every test cluster. */
  readonly serviceCidrs: readonly string[]
  /** What runs on its nodes; without it containers begin anew. */
  readonly running?: RunningNodes
}

const OWN_KEYS = "cred/encryption-config.json"
const CIDR_KEY = `${ServiceCIDR.prefix}kubernetes`

/** Reads a snapshot. @throws TestClusterError when it cannot be read, or has objects that cannot be decrypted */
export async function readSnapshot(input: SnapshotInput): Promise<ClusterSnapshot> {
  try {
    return clusterSnapshotOf(await readObjects(input))
  } catch (cause) {
    const { message } = cause as Error
    throw new TestClusterError(`Cannot start a cluster with snapshot: ${message}`, { cause })
  }
}

/** What a snapshot has of a cluster's store, decrypted. */
export interface SnapshotContent {
  /** When it was taken, in milliseconds since the epoch. */
  readonly time: number
  readonly revision: number
  readonly objects: readonly SnapshotObject[]
  /** The gates of the cluster, and its kinds that are off by default; those by default unless given. */
  readonly settings?: {
    readonly features: Readonly<Partial<Record<FeatureName, boolean>>>
    readonly runtimeConfig: readonly string[]
  }
}

/** Reads the objects of a snapshot. @throws Error when it cannot be read, or has objects that cannot be decrypted */
export async function readObjects(input: SnapshotInput): Promise<SnapshotContent> {
  // Loaded only now: few tests begin with a snapshot, and not every runtime has zstd.
  const [{ bytesSource }, { openSnapshot }] = await Promise.all([
    import("../../../pkg/snapshot/sources.ts"),
    import("../../../pkg/snapshot/unpack.ts"),
  ])
  const path = input instanceof URL ? fileURLToPath(input) : input
  const source = typeof path === "string" ? bytesSource(await readFile(path), path) : bytesSource(path)
  const { index, records } = await openSnapshot(source)
  const objects: SnapshotObject[] = []
  let keys: string | undefined
  for await (const record of records()) {
    if (!("path" in record)) objects.push(record)
    else if (record.path === OWN_KEYS) keys = Buffer.from(record.content).toString()
  }
  return { time: index.time, revision: index.revision, objects: await decrypted(objects, keys) }
}

/** Returns a cluster's store as a test cluster begins with it. */
export function clusterSnapshotOf({ time, revision, objects: plain }: SnapshotContent): ClusterSnapshot {
  const valueOf = <T>(object: SnapshotObject | undefined): T | undefined =>
    object === undefined ? undefined : (JSON.parse(Buffer.from(object.value).toString()) as T)
  const cidr = valueOf<ServiceCIDR>(plain.find(({ key }) => key === CIDR_KEY))
  const nodes = plain.filter(({ key }) => key.startsWith(Node.prefix)).map((object) => valueOf<Node>(object)!)
  return {
    time,
    beginning: { revision, objects: plain, parse: parseStored },
    nodes: nodes.map((node) => ({ spec: specOf(node), ips: ipsOf(node) })),
    serviceCidrs: cidr?.spec?.cidrs ?? [],
  }
}

/** The name that a snapshot of a test cluster gives as the machine that took it. */
const TAKEN_BY = "k3ts-testing"

/** Takes a snapshot of what an API server has stored; `time` is the cluster's. */
export async function takeSnapshot(apiServer: Pick<ApiServer, "image">, time: number): Promise<Uint8Array> {
  // A store in memory keeps nothing for the image, which so needs no end.
  const { objects, revision, cluster } = apiServer.image()
  const [{ packSnapshot }, { inOrder }, { version }] = await Promise.all([
    import("../../../pkg/snapshot/pack.ts"),
    import("../../../pkg/snapshot/in-order.ts"),
    import("../../../pkg/version/version.ts"),
  ])
  const info = { revision, time, version, node: TAKEN_BY, cluster }
  // The turns between which objects are encoded are the process's own: virtual time stands still meanwhile.
  const contents = { info, files: [], objects: inOrder(objects, realClock) }
  return Buffer.concat(await Array.fromAsync(packSnapshot(contents, "none")))
}

/** Decrypts what is encrypted, with the keys that the snapshot has. */
async function decrypted(
  objects: readonly SnapshotObject[],
  keys: string | undefined,
): Promise<readonly SnapshotObject[]> {
  const some = objects.find(({ value }) => isSealed(value))
  if (some === undefined) return objects
  if (keys === undefined) throw new Error(`${some.key} is encrypted, with a key that is not in the snapshot`)
  const transformer = await transformerOf(keys)
  return objects.map((object) =>
    isSealed(object.value) ? { ...object, value: opened(transformer, object.value, object).json } : object,
  )
}

async function transformerOf(keys: string): Promise<ValueTransformer> {
  const [{ parseEncryptionConfiguration }, encryption, { systemRandom }] = await Promise.all([
    import("../../apiserver/encryption/configuration.ts"),
    import("../../apiserver/encryption/transformer.ts"),
    import("../../../pkg/clock/random.ts"),
  ])
  return encryption.transformerOf(parseEncryptionConfiguration(keys, OWN_KEYS), {
    random: systemRandom,
    kms: () => {
      throw new Error("the keys are in a KMS")
    },
  })
}

/** The machine as its Node describes it. Further labels and the taints stay in the Node, which others have given it. */
export function specOf({ metadata, status }: Node): NodeSpec {
  const { cpu, memory, pods, "ephemeral-storage": disk } = status.capacity ?? {}
  const capacity = {
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(pods === undefined ? {} : { pods }),
    ...(disk === undefined ? {} : { "ephemeral-storage": disk }),
  }
  const labels = Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => isOfKubelet(key)))
  return nodeSpec({ name: metadata.name ?? "", capacity, labels }, 0)
}

const ipsOf = ({ status }: Node): readonly string[] =>
  (status.addresses ?? []).filter(({ type }) => type === "InternalIP").map(({ address }) => address)
