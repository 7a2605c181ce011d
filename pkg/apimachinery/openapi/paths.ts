import type { KubeObject, Resource, Verb } from "../resource.ts"
import { markersOf } from "./markers.ts"
import type { GroupVersionKind } from "./schema.ts"
import { pushAll } from "../../lists/push-all.ts"

/**
 * The paths of a kind and their operations, the same for OpenAPI v2 and v3. kubectl finds here which parameters the
 * server supports (`dryRun`, `fieldValidation`), and the kind of a path. Source: apiserver pkg/endpoints/installer.go.
 */
export interface Path {
  readonly path: string
  /** The names of the parameters in the path. */
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
  "How unknown and duplicate fields are handled: Ignore, Warn or Strict.",
)
const FORCE = query("force", "boolean", "Take over fields that other managers own; for apply only.")
const WRITE = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION]
const SELECT = [
  query("continue", "string", "Token for the next part of a list."),
  query("fieldSelector", "string", "Only objects whose fields match."),
  query("labelSelector", "string", "Only objects whose labels match."),
  query("limit", "integer", "The most objects in one response."),
  query("resourceVersion", "string", "The resource version that constrains the response."),
  query("resourceVersionMatch", "string", "How resourceVersion is applied: Exact or NotOlderThan."),
  query("sendInitialEvents", "boolean", "Begin a watch with the existing objects."),
  query("shardSelector", "string", "Only a part of the collection; not implemented."),
  query("timeoutSeconds", "integer", "Seconds after which the call ends."),
]
const LIST = [query("allowWatchBookmarks", "boolean", "Send bookmarks in a watch."), ...SELECT]
const WATCH = query("watch", "boolean", "Stream the changes instead of listing.")
const DELETE = [
  DRY_RUN,
  query("gracePeriodSeconds", "integer", "Seconds that the object has to terminate."),
  query(
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "boolean",
    "Delete the object even if it cannot be read from the store.",
  ),
  query("orphanDependents", "boolean", "Deprecated; use propagationPolicy."),
  query("propagationPolicy", "string", "What happens to owned objects: Orphan, Background or Foreground."),
]

/** What the published document of a custom resource says of a read: the parameters of GetOptions. */
const GET = [query("resourceVersion", "string", "The resource version that constrains the response.")]

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)
/** Returns a part of operation ids and tags: of other characters than letters and digits the next one is a capital. */
const joined = (text: string): string =>
  text.replace(/^[^\p{L}_]+/u, "").replace(/[^\p{L}\d_]+(.?)/gu, (_others, next: string) => next.toUpperCase())
const nameOf = (group: string): string => joined(group === "" ? "core" : group.replace(/\.k8s\.io$/, ""))
/**
 * Returns the beginning of operation ids: `RbacAuthorizationV1`, `CoreV1`. Source: ToValidOperationID in
 * apiserver pkg/endpoints/openapi/openapi.go.
 */
export const idOf = (group: string, version: string): string => capital(nameOf(group)) + capital(joined(version))
/** Returns the OpenAPI tag of a group, such as `rbacAuthorization`, which generated clients use as a name. */
export const tagOf = (group: string, version?: string): string =>
  version === undefined ? nameOf(group) : `${nameOf(group)}_${joined(version)}`

/** Returns `/api/v1` or `/apis/apps/v1`. */
export const rootOf = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  group === "" ? `/api/${version}` : `/apis/${group}/${version}`

/**
 * Returns the paths of a kind. Those of custom resources are fewer and say less, as upstream's: source
 * apiextensions-apiserver pkg/controller/openapi/builder/builder.go.
 */
export function pathsOf<T extends KubeObject>(resource: Resource<T>): readonly Path[] {
  const isCustom = resource.definition !== undefined
  const read = isCustom ? GET : []
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
          query: isCustom ? [...LIST, WATCH] : [...SELECT, ...DELETE],
          body: isCustom ? undefined : "options",
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
          query: read,
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
  if (verbs.includes("watch") && !isCustom) pushAll(paths, watchPaths(resource, id))
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
            query: read,
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

/** Returns the watch paths of Kubernetes 1.0: for all objects, for those of a namespace, and for one. */
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
  query("container", "string", "Name of the container in the pod."),
  query("stderr", "boolean", "Whether to send stderr to the client."),
  query("stdin", "boolean", "Whether the client sends stdin."),
  query("stdout", "boolean", "Whether to send stdout to the client."),
  query("tty", "boolean", "Whether to allocate a terminal."),
]
/** Subresources that are streams, with their query parameters. */
const CONNECTION: Readonly<Record<string, readonly Query[]>> = {
  exec: [query("command", "string", "The command and its arguments, one parameter each."), ...STREAMS],
  attach: STREAMS,
  portforward: [query("ports", "integer", "Ports of the pod; needed with WebSockets.")],
  proxy: [query("path", "string", "Path to request.")],
}
const PROXY_METHODS: readonly Operation["method"][] = ["delete", "get", "head", "options", "patch", "post", "put"]
const LOG = [
  query("container", "string", "Name of the container in the pod."),
  query("follow", "boolean", "Whether to follow the log."),
  query("insecureSkipTLSVerifyBackend", "boolean", "Whether to skip the verification of the kubelet's certificate."),
  query("limitBytes", "integer", "The most bytes to send."),
  query("previous", "boolean", "Whether to send the log of the previous container."),
  query("sinceSeconds", "integer", "Only lines that are newer than this."),
  query("stream", "string", "All, Stdout or Stderr."),
  query("tailLines", "integer", "The number of lines to send from the end of the log."),
  query("timestamps", "boolean", "Whether each line begins with a timestamp."),
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
