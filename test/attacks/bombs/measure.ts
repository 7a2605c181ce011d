import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { Bomb } from "./bombs.ts"
import type { ClusterProcess } from "./cluster-process.ts"

/** What bombs did to the cluster. */
export interface Effect {
  readonly titles: readonly string[]
  /** The answers to their creation. */
  readonly statuses: readonly number[]
  /** The length of their JSON, together. */
  readonly bytes: number
  /** Processor time of the longest turn: while they were created, and while they were changed, applied, read and deleted. */
  readonly createMs: number
  readonly laterMs: number
  /** Growth of the heap while they exist, and of the resident memory while they were created; bytes. */
  readonly kept: number
  readonly peak: number
  /** How the cluster's process ended, if they ended it. */
  readonly ended?: string
}

/** The users who send bombs: an administrator of the namespace, and one of the cluster; neither in system:masters. */
const NAMESPACE_ADMIN = "bombs:namespace-admin"
const CLUSTER_ADMIN = "bombs:cluster-admin"

const RBAC = "rbac.authorization.k8s.io"

/** Makes the users that send the bombs. */
export async function prepare(cluster: ClusterProcess): Promise<void> {
  const bind = (name: string, role: string) => ({
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: RBAC, kind: "User", name }],
  })
  const all = `/apis/${RBAC}/v1`
  const answers = [
    await cluster.send("POST", `${all}/clusterrolebindings`, bind(CLUSTER_ADMIN, "cluster-admin")),
    await cluster.send("POST", `${all}/namespaces/default/rolebindings`, bind(NAMESPACE_ADMIN, "admin")),
  ]
  const failed = answers.find(({ status }) => status !== 201)
  if (failed !== undefined) throw new Error(`Cannot prepare the cluster: ${failed.body.toString()}`)
}

const MERGE = { "content-type": "application/merge-patch+json" }
const APPLY = { "content-type": "application/apply-patch+yaml" }

interface Sent {
  readonly bomb: Bomb
  readonly all: string
  readonly path: string
  readonly body: string
  /** The status that the object gets when it is there, by a merge patch. */
  readonly status?: string
}

/** Lets a cluster create, change, apply, read and delete the objects, and measures it. */
export async function measure(cluster: ClusterProcess, bombs: readonly Bomb[]): Promise<Effect> {
  const sent = bombs.map((bomb, i) => requestOf(bomb, bombs.length === 1 ? undefined : `bomb-${i}`))
  const bytes = sent.reduce((sum, { body, status = "" }) => sum + body.length + status.length, 0)
  const statuses: number[] = []
  const effect = { titles: bombs.map(({ title }) => title), statuses, bytes, createMs: 0, laterMs: 0, kept: 0, peak: 0 }
  try {
    for (const { bomb, all, body, status } of sent)
      if (status !== undefined) await cluster.send("POST", all, body, sender(bomb))
    await cluster.begin()
    for (const { bomb, all, path, body, status } of sent) {
      const answer =
        status === undefined
          ? await cluster.send("POST", all, body, sender(bomb))
          : await cluster.send("PATCH", `${path}/status`, status, MERGE)
      statuses.push(answer.status)
      if (answer.status >= 300 && process.env["K3TS_BOMBS_WHY"] !== undefined)
        console.log(bomb.title, answer.body.toString().slice(0, 300))
    }
    const created = await cluster.end()
    const { longestMs: createMs, kept, peak } = created
    const there = sent.filter(({ bomb }, i) => statuses[i]! < 300 && bomb.resource.verbs.includes("delete"))
    if (there.length === 0) return { ...effect, createMs, kept, peak }
    await cluster.begin()
    for (const { bomb, all, path, body, status } of there) {
      const as = sender(bomb)
      const merge = { ...as, ...MERGE }
      await cluster.send("PATCH", path, { metadata: { labels: { bomb: "changed" } } }, merge)
      if (status === undefined)
        await cluster.send("PATCH", `${path}?fieldManager=bombs&force=true`, body, { ...as, ...APPLY })
      await cluster.send("GET", all, undefined, { ...as, accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })
      await cluster.send("DELETE", path, { gracePeriodSeconds: 0, propagationPolicy: "Background" }, as)
    }
    const { longestMs: laterMs } = await cluster.end()
    for (const { path } of there) await remove(cluster, path)
    return { ...effect, createMs, laterMs, kept, peak }
  } catch (err) {
    await cluster.kill()
    return { ...effect, ended: errorMessage(err) }
  }
}

function requestOf(bomb: Bomb, name: string | undefined): Sent {
  const { group, apiVersion, plural, scope } = bomb.resource
  const all = `/${group === "" ? "api" : "apis"}/${apiVersion}${scope === "Namespaced" ? "/namespaces/default" : ""}/${plural}`
  const { metadata } = bomb.object as { readonly metadata: { readonly name: string } }
  const object = name === undefined ? bomb.object : { ...bomb.object, metadata: { ...metadata, name } }
  const path = `${all}/${name ?? metadata.name}`
  const { status, ...body } = object as { readonly status?: object }
  if (!bomb.isStatus) return { bomb, all, path, body: JSON.stringify(object) }
  return { bomb, all, path, body: JSON.stringify(body), status: JSON.stringify({ status }) }
}

function sender({ resource: { group, plural, scope, definition } }: Bomb): Record<string, string> {
  const ofNamespace = scope === "Namespaced" && definition === undefined && !NOT_OF_ADMINS.has(plural)
  return {
    "impersonate-user": ofNamespace || (group === RBAC && scope === "Namespaced") ? NAMESPACE_ADMIN : CLUSTER_ADMIN,
  }
}

/** Kinds in namespaces that the role `admin` does not include. */
const NOT_OF_ADMINS: ReadonlySet<string> = new Set(
  (
    "limitranges resourcequotas resourceclaims resourceclaimtemplates csistoragecapacities controllerrevisions " +
    "podtemplates endpoints endpointslices events leases selfsubjectrulesreviews bindings"
  ).split(" "),
)

/** Removes an object that finalizers keep. */
async function remove(cluster: ClusterProcess, path: string): Promise<void> {
  if ((await cluster.send("GET", path)).status === 404) return
  await cluster.send("PATCH", path, { metadata: { finalizers: null } }, MERGE)
}
