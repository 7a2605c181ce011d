import type { KubeObject, Resource, Verb } from "../resource.ts"
import { markersOf } from "./markers.ts"
import type { GroupVersionKind } from "./schema.ts"

/**
 * The paths of a kind and what can be done there, the same for OpenAPI v2 and v3. kubectl looks here for the parameters
 * that a server knows (`dryRun`, `fieldValidation`) and for the kind behind a path. Source: apiserver
 * pkg/endpoints/installer.go.
 */
export interface Path {
  readonly path: string
  /** Names of the parameters in the path. */
  readonly inPath: readonly ("namespace" | "name" | "path")[]
  readonly operations: readonly Operation[]
}

export interface Operation {
  readonly method: "get" | "put" | "post" | "delete" | "patch" | "head" | "options"
  readonly action:
    | "get"
    | "list"
    | "put"
    | "post"
    | "delete"
    | "deletecollection"
    | "patch"
    | "connect"
    | "watch"
    | "watchlist"
  readonly id: string
  readonly doc: string
  readonly kind: GroupVersionKind
  readonly query: readonly Query[]
  readonly body: "kind" | "options" | "patch" | undefined
  readonly answer: "kind" | "list" | "status" | "event" | "text" | "log"
}

export interface Query {
  readonly name: string
  readonly type: "string" | "integer" | "boolean"
  readonly doc: string
}

const query = (name: string, type: Query["type"], doc: string): Query => ({ name, type, doc })
const DRY_RUN = query("dryRun", "string", "`All` runs every stage of the request but stores nothing.")
const FIELD_MANAGER = query("fieldManager", "string", "Name under which the changed fields are recorded.")
const FIELD_VALIDATION = query(
  "fieldValidation",
  "string",
  "What becomes of unknown and double fields: Ignore, Warn or Strict.",
)
const FORCE = query("force", "boolean", "Take over fields that other managers own; for apply only.")
const WRITE = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION]
const SELECT = [
  query("continue", "string", "Token for the next part of a list."),
  query("fieldSelector", "string", "Only objects whose fields match."),
  query("labelSelector", "string", "Only objects whose labels match."),
  query("limit", "integer", "Most objects in one answer."),
  query("resourceVersion", "string", "The version that the answer has to do with."),
  query("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
  query("sendInitialEvents", "boolean", "Begin a watch with what is there."),
  query("shardSelector", "string", "Only a part of the collection; not built."),
  query("timeoutSeconds", "integer", "Seconds after which the call ends."),
]
const LIST = [query("allowWatchBookmarks", "boolean", "Send bookmarks in a watch."), ...SELECT]
const WATCH = query("watch", "boolean", "Stream the changes instead of listing.")
const DELETE = [
  DRY_RUN,
  query("gracePeriodSeconds", "integer", "Seconds given to the object to end."),
  query("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "Delete even what cannot be read."),
  query("orphanDependents", "boolean", "Deprecated; use propagationPolicy."),
  query("propagationPolicy", "string", "What becomes of owned objects: Orphan, Background or Foreground."),
]

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)
/** `RbacAuthorizationV1`, `CoreV1`: how operation ids begin. */
export const idOf = (group: string, version: string): string =>
  (group === "" ? "core" : group.replace(/\.k8s\.io$/, "")).split(".").map(capital).join("") + capital(version)

/** `/api/v1` or `/apis/apps/v1`. */
export const rootOf = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  group === "" ? `/api/${version}` : `/apis/${group}/${version}`

export function pathsOf<T extends KubeObject>(resource: Resource<T>): readonly Path[] {
  const { group, version, kind, plural, verbs } = resource
  const namespaced = resource.scope === "Namespaced"
  const root = rootOf(resource)
  const [id, scope] = [idOf(group, version), namespaced ? "Namespaced" : ""]
  const own: GroupVersionKind = { group, version, kind }
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`
  const at: ("namespace" | "name")[] = namespaced ? ["namespace"] : []
  const has = (verb: Verb, operation: () => Operation): Operation[] => (verbs.includes(verb) ? [operation()] : [])
  const base = { kind: own, query: [], body: undefined, answer: "kind" } as const

  const paths: Path[] = [
    {
      path: collection,
      inPath: at,
      operations: [
        ...has("list", () => ({
          ...base,
          method: "get",
          action: "list",
          id: `list${id}${scope}${kind}`,
          doc: `list or watch objects of kind ${kind}`,
          query: [...LIST, WATCH],
          answer: "list",
        })),
        ...has("create", () => ({
          ...base,
          method: "post",
          action: "post",
          id: `create${id}${scope}${kind}`,
          doc: `create a ${kind}`,
          query: WRITE,
          body: "kind",
        })),
        ...has("deletecollection", () => ({
          ...base,
          method: "delete",
          action: "deletecollection",
          id: `delete${id}Collection${scope}${kind}`,
          doc: `delete collection of ${kind}`,
          query: [...SELECT, ...DELETE],
          body: "options",
          answer: "status",
        })),
      ],
    },
    {
      path: `${collection}/{name}`,
      inPath: [...at, "name"],
      operations: [
        ...has("get", () => ({
          ...base,
          method: "get",
          action: "get",
          id: `read${id}${scope}${kind}`,
          doc: `read the specified ${kind}`,
        })),
        ...has("update", () => ({
          ...base,
          method: "put",
          action: "put",
          id: `replace${id}${scope}${kind}`,
          doc: `replace the specified ${kind}`,
          query: WRITE,
          body: "kind",
        })),
        ...has("patch", () => ({
          ...base,
          method: "patch",
          action: "patch",
          id: `patch${id}${scope}${kind}`,
          doc: `partially update the specified ${kind}`,
          query: [...WRITE, FORCE],
          body: "patch",
        })),
        ...has("delete", () => ({
          ...base,
          method: "delete",
          action: "delete",
          id: `delete${id}${scope}${kind}`,
          doc: `delete a ${kind}`,
          query: DELETE,
          body: "options",
          answer:
            resource.returnsDeletedObject === true && markersOf(resource.schema.name).deletion === undefined
              ? "kind"
              : "status",
        })),
      ],
    },
  ]
  if (namespaced && verbs.includes("list"))
    paths.push({
      path: `${root}/${plural}`,
      inPath: [],
      operations: [
        {
          ...base,
          method: "get",
          action: "list",
          id: `list${id}${kind}ForAllNamespaces`,
          doc: `list or watch objects of kind ${kind}`,
          query: [...LIST, WATCH],
          answer: "list",
        },
      ],
    })
  if (verbs.includes("watch")) paths.push(...watchPaths(resource, id))
  for (const [name, of, subVerbs] of subresourcesOf(resource)) {
    const suffix = `${scope}${kind}${capital(name)}`
    const sub = { ...base, kind: of }
    const connects = CONNECTION[name] !== undefined
    const methods = name === "proxy" ? PROXY_METHODS : subVerbs.map((verb) => METHOD[verb])
    const operations = methods.map((method): Operation => {
      if (connects)
        return {
          ...sub,
          method,
          action: "connect",
          id: `connect${id}${capital(method)}${suffix}`,
          doc: `connect ${method.toUpperCase()} requests to ${name} of ${kind}`,
          query: CONNECTION[name] ?? [],
          answer: "text",
        }
      if (name === "log")
        return {
          ...sub,
          method: "get",
          action: "get",
          id: `read${id}${suffix}`,
          doc: `read ${name} of the specified ${kind}`,
          query: LOG,
          answer: "log",
        }
      switch (method) {
        case "put":
          return {
            ...sub,
            method: "put",
            action: "put",
            id: `replace${id}${suffix}`,
            doc: `replace ${name} of the specified ${kind}`,
            query: WRITE,
            body: "kind",
          }
        case "patch":
          return {
            ...sub,
            method: "patch",
            action: "patch",
            id: `patch${id}${suffix}`,
            doc: `partially update ${name} of the specified ${kind}`,
            query: [...WRITE, FORCE],
            body: "patch",
          }
        case "post":
          return {
            ...sub,
            method: "post",
            action: "post",
            id: `create${id}${suffix}`,
            doc: `create ${name} of a ${kind}`,
            query: WRITE,
            body: "kind",
          }
        default:
          return {
            ...sub,
            method,
            action: "get",
            id: `read${id}${suffix}`,
            doc: `read ${name} of the specified ${kind}`,
          }
      }
    })
    paths.push({ path: `${collection}/{name}/${name}`, inPath: [...at, "name"], operations })
    if (name === "proxy")
      paths.push({
        path: `${collection}/{name}/proxy/{path}`,
        inPath: [...at, "name", "path"],
        operations: operations.map((operation) => ({ ...operation, id: `${operation.id}WithPath` })),
      })
  }
  return paths.filter(({ operations }) => operations.length > 0)
}

/** The paths of watches in Kubernetes 1.0: of all objects, of those of a namespace, and of one. */
function watchPaths<T extends KubeObject>(resource: Resource<T>, id: string): readonly Path[] {
  const { group, version, kind, plural } = resource
  const namespaced = resource.scope === "Namespaced"
  const scope = namespaced ? "Namespaced" : ""
  const root = `${rootOf(resource)}/watch`
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`
  const at: ("namespace" | "name")[] = namespaced ? ["namespace"] : []
  const watch = (action: "watch" | "watchlist", name: string): Operation => ({
    method: "get",
    action,
    id: `watch${id}${name}`,
    doc: `watch ${action === "watch" ? `a ${kind}` : `objects of kind ${kind}`}; deprecated: list with 'watch' instead`,
    kind: { group, version, kind },
    query: [...LIST, WATCH],
    body: undefined,
    answer: "event",
  })
  return [
    { path: collection, inPath: at, operations: [watch("watchlist", `${scope}${kind}List`)] },
    { path: `${collection}/{name}`, inPath: [...at, "name"], operations: [watch("watch", `${scope}${kind}`)] },
    ...(namespaced
      ? [{ path: `${root}/${plural}`, inPath: [], operations: [watch("watchlist", `${kind}ListForAllNamespaces`)] }]
      : []),
  ]
}

const STREAMS = [
  query("container", "string", "Which container of the pod."),
  query("stderr", "boolean", "Whether the client takes the error output."),
  query("stdin", "boolean", "Whether the client sends input."),
  query("stdout", "boolean", "Whether the client takes the output."),
  query("tty", "boolean", "Whether there is a terminal."),
]
/** Subresources that are streams, not objects, and what can be asked of them. */
const CONNECTION: Readonly<Record<string, readonly Query[]>> = {
  exec: [query("command", "string", "The command and its arguments, each by itself."), ...STREAMS],
  attach: STREAMS,
  portforward: [query("ports", "integer", "Ports of the pod; needed with WebSockets.")],
  proxy: [query("path", "string", "Path to ask for.")],
}
const PROXY_METHODS: readonly Operation["method"][] = ["delete", "get", "head", "options", "patch", "post", "put"]
const LOG = [
  query("container", "string", "Which container of the pod."),
  query("follow", "boolean", "Whether to go on with what is still to come."),
  query("insecureSkipTLSVerifyBackend", "boolean", "Whether the kubelet's certificate is not looked at."),
  query("limitBytes", "integer", "Most bytes to send."),
  query("previous", "boolean", "Whether that of the container before is meant."),
  query("sinceSeconds", "integer", "Only what is younger."),
  query("stream", "string", "All, Stdout or Stderr."),
  query("tailLines", "integer", "Only so many lines from the end."),
  query("timestamps", "boolean", "Whether each line begins with its time."),
]
const METHOD: Readonly<Record<Verb, Operation["method"]>> = {
  get: "get",
  list: "get",
  watch: "get",
  create: "post",
  update: "put",
  patch: "patch",
  delete: "delete",
  deletecollection: "delete",
}

function subresourcesOf<T extends KubeObject>({
  group,
  version,
  kind,
  subresources,
}: Resource<T>): [string, GroupVersionKind, readonly Verb[]][] {
  const made: [string, GroupVersionKind, readonly Verb[]][] = []
  if (subresources?.status !== undefined) made.push(["status", { group, version, kind }, ["get", "patch", "update"]])
  if (subresources?.scale !== undefined)
    made.push(["scale", { group: "autoscaling", version: "v1", kind: "Scale" }, ["get", "patch", "update"]])
  for (const [name, other] of Object.entries(subresources?.other ?? {}))
    made.push([name, { group: other.group ?? group, version: other.version ?? version, kind: other.kind }, other.verbs])
  return made
}
