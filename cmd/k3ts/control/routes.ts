/**
 * What the control channel of `k3ts test-cluster` does: each route calls one method of the cluster. Paths are below that
 * of a cluster, such as `/v1/clusters/main`; bodies and answers are JSON.
 */
import { z } from "zod"
import type { ImageBehaviour } from "../../../components/kubelet/runtime/simulated/containers/behaviour.ts"
import type { Cluster } from "../../../components/cluster/testing/cluster.ts"
import type { Fault } from "../../../components/cluster/testing/faults/storage-faults.ts"
import type { WaitCondition } from "../../../components/cluster/testing/verbs/wait-for.ts"
import type { Reason } from "../../../pkg/apimachinery/errors.ts"

/** A cluster that the channel drives. */
export interface Driven {
  readonly cluster: Cluster
  /** The path of its kubeconfig. */
  readonly kubeconfig: string
  /** The faults that the channel has begun, by their ids. */
  readonly faults: Map<string, Fault>
  /** Writes a snapshot of it to a file, and returns the path. */
  snapshot(): Promise<string>
  /** Starts another cluster from a snapshot, of this cluster as it is now unless one is given. Returns its URL. */
  fork(snapshot: string | undefined): Promise<{ readonly url: string; readonly kubeconfig: string }>
  /** Ends the cluster. */
  end(): Promise<void>
}

/** A request that cannot be done, with the HTTP status that says so. */
export class ControlError extends Error {
  override readonly name = "ControlError"
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

export interface Route {
  readonly method: "GET" | "POST" | "DELETE"
  /** The path behind the cluster's: `/advance`; `/faults/` with an id behind it. */
  readonly path: string
  /** `body` is checked. @throws what the cluster throws, ControlError */
  answer(driven: Driven, body: unknown, id: string): Promise<unknown>
}

/** `3d`, `1h30m`, or milliseconds. */
const duration = z.union([z.string(), z.number()])
const name = z.string().min(1)
const kind = { apiVersion: name, kind: name }
const inNamespace = { namespace: name.optional() }

function route<T>(
  method: Route["method"],
  path: string,
  body: z.ZodType<T>,
  answer: (driven: Driven, body: T, id: string) => unknown,
): Route {
  return {
    method,
    path,
    async answer(driven, given, id) {
      const parsed = body.safeParse(given ?? {})
      if (!parsed.success) throw new ControlError(400, z.prettifyError(parsed.error))
      return answer(driven, parsed.data, id)
    },
  }
}
const NOTHING = z.strictObject({})

const timeOf = ({ cluster }: Driven) => ({ time: cluster.now.toISOString() })

const Match = {
  user: name.optional(),
  verb: z.union([name, z.array(name)]).optional(),
  resource: z.union([name, z.array(name)]).optional(),
  subresource: name.optional(),
  namespace: name.optional(),
  name: name.optional(),
}

/** Returns its argument without the keys that are undefined, as the options of a cluster are written. */
type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }
const given = <T extends object>(value: T): Given<T> =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Given<T>

const node = { node: name }
const FaultBody = z.discriminatedUnion("fault", [
  z.strictObject({ fault: z.literal("nodeLost"), ...node }),
  z.strictObject({ fault: z.literal("nodePartitioned"), ...node }),
  z.strictObject({ fault: z.literal("nodeSlow"), ...node, factor: z.number() }),
  z.strictObject({ fault: z.literal("nodeOutOfMemory"), ...node }),
  z.strictObject({ fault: z.literal("nodeOutOfDisk"), ...node }),
  z.strictObject({
    fault: z.literal("imagePull"),
    image: name,
    node: name.optional(),
    message: name.optional(),
  }),
  z.strictObject({
    fault: z.literal("requests"),
    ...Match,
    delay: duration.optional(),
    error: name.optional(),
    times: z.int().positive().optional(),
  }),
  z.strictObject({ fault: z.literal("crashed"), component: z.enum(["apiserver", "scheduler", "controller-manager"]) }),
  z.strictObject({ fault: z.literal("kubeletCrashed"), ...node }),
])

function begin({ faults }: Cluster, body: z.infer<typeof FaultBody>): Promise<Fault> {
  switch (body.fault) {
    case "nodeLost":
    case "nodePartitioned":
    case "nodeOutOfMemory":
    case "nodeOutOfDisk":
      return faults[body.fault](body.node)
    case "nodeSlow":
      return faults.nodeSlow(body.node, body.factor)
    case "imagePull": {
      const { fault: _, image, ...options } = body
      return faults.imagePull(image, given(options))
    }
    case "requests": {
      const { fault: _, error, ...match } = body
      return faults.requests({ ...given(match), ...(error === undefined ? {} : { error: error as Reason }) })
    }
    case "crashed":
      return faults.crashed(body.component)
    case "kubeletCrashed":
      return faults.crashed({ kubelet: body.node })
  }
}

export const ROUTES: readonly Route[] = [
  route("GET", "", NOTHING, (driven) => ({
    ...timeOf(driven),
    seed: driven.cluster.seed,
    nodes: driven.cluster.nodes,
    faults: driven.cluster.faults.inWords(),
    kubeconfig: driven.kubeconfig,
  })),

  route(
    "POST",
    "/advance",
    z.union([z.strictObject({ by: duration }), z.strictObject({ to: z.string() })]),
    async (driven, body) => {
      await ("by" in body ? driven.cluster.advance(body.by) : driven.cluster.advanceTo(body.to))
      return timeOf(driven)
    },
  ),

  route("POST", "/settle", NOTHING, async (driven) => {
    await driven.cluster.settle()
    return timeOf(driven)
  }),

  route("POST", "/apply", z.strictObject({ manifests: name }), async ({ cluster }, { manifests }) => ({
    // A text without a line's end would be taken for a path.
    items: await cluster.apply(`${manifests}\n`),
  })),

  route(
    "POST",
    "/wait",
    z.strictObject({ ...kind, ...inNamespace, name, for: z.union([name, z.array(name)]), within: duration.optional() }),
    async ({ cluster }, { apiVersion, kind, name, namespace = "default", for: wanted, within }) => {
      const conditions = (typeof wanted === "string" ? [wanted] : wanted) as WaitCondition[]
      const options = within === undefined ? {} : { within }
      return (await cluster.waitFor(cluster.kind(apiVersion, kind), { name, namespace }, conditions, options)) ?? {}
    },
  ),

  route(
    "POST",
    "/eventually",
    z.strictObject({
      ...kind,
      ...inNamespace,
      labels: name.optional(),
      fields: name.optional(),
      count: z.int().min(0),
      within: duration.optional(),
    }),
    async ({ cluster }, { apiVersion, kind, count, within, ...selection }) => ({
      items: await cluster.eventually(
        cluster.kind(apiVersion, kind),
        given(selection),
        (objects) => objects.length === count,
        within === undefined ? {} : { within },
      ),
    }),
  ),

  route(
    "POST",
    "/images",
    z.strictObject({ image: name, behaviour: z.record(z.string(), z.json()) }),
    (driven, body) => {
      // The cluster checks its names, and refuses what is none.
      driven.cluster.setImage(body.image, body.behaviour as ImageBehaviour)
      return {}
    },
  ),

  route("POST", "/explain", z.strictObject({ pod: name, ...inNamespace }), async ({ cluster }, { pod, namespace }) => ({
    text: String(await cluster.explain({ name: pod, namespace: namespace ?? "default" })),
  })),

  route("POST", "/faults", FaultBody, async ({ cluster, faults }, body) => {
    const fault = await begin(cluster, body)
    const id = String(faults.size + 1)
    faults.set(id, fault)
    return { id }
  }),
  route("DELETE", "/faults/", NOTHING, async ({ faults }, _body, id) => {
    const fault = faults.get(id)
    if (fault === undefined) throw new ControlError(404, `there is no fault ${JSON.stringify(id)}`)
    // Its id is not given again: the entry stays.
    await fault.end()
    return {}
  }),
  route("POST", "/drop-watches", z.strictObject(Match), ({ cluster }, match) => ({
    watches: cluster.faults.dropWatches(given(match)),
  })),
  route("POST", "/forget-history", NOTHING, ({ cluster }) => {
    cluster.faults.forgetHistory()
    return {}
  }),
  route("POST", "/clock-jump", z.strictObject({ by: duration }), async (driven, { by }) => {
    await driven.cluster.faults.clockJump(by)
    return timeOf(driven)
  }),

  route("POST", "/snapshot", NOTHING, async (driven) => ({ snapshot: await driven.snapshot() })),
  route("POST", "/fork", z.strictObject({ snapshot: name.optional() }), (driven, { snapshot }) =>
    driven.fork(snapshot),
  ),
  route("DELETE", "", NOTHING, async (driven) => {
    await driven.end()
    return {}
  }),
]
