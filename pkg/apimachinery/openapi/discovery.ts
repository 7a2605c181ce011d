import { e, f, message } from "../fields.ts"
import type { Message } from "../field-spec.ts"

/**
 * OpenAPI definitions of the discovery documents (APIGroup, APIResourceList …) and of watch events. Clients receive
 * them, but no object of these types is stored. Source: apimachinery pkg/apis/meta/v1/types.go, pkg/version/types.go.
 */
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1"

const GroupVersion = message(`${meta}.GroupVersionForDiscovery`, "A group and version in which kinds are served.", {
  groupVersion: f.string(1, "Group and version, as in apiVersion.").printZero(),
  version: f.string(2, "The version alone.").printZero(),
})
const ServerAddress = message(`${meta}.ServerAddressByClientCIDR`, "The address for clients of a network.", {
  clientCIDR: f.string(1, "Network of the clients.").printZero(),
  serverAddress: f.string(2, "Host and port under which they reach the server.").printZero(),
})
const APIGroup: Message = message(`${meta}.APIGroup`, "A group and its versions.", {
  name: f.string(1, "Name of the group.").printZero(),
  versions: f.list(2, GroupVersion, "Its versions.").atomic().printZero(),
  preferredVersion: f.message(3, GroupVersion, "The version that clients should use."),
  serverAddressByClientCIDRs: f.list(4, ServerAddress, "Addresses of the server.").atomic(),
})
const APIGroupList: Message = message(`${meta}.APIGroupList`, "The groups that are served.", {
  groups: f
    .listRecursive<object>(1, () => APIGroup, "The groups.")
    .atomic()
    .printZero(),
})
const APIVersions: Message = message(`${meta}.APIVersions`, "The versions of the core group.", {
  versions: f.list(1, e.string, "The versions.").atomic().printZero(),
  serverAddressByClientCIDRs: f.list(2, ServerAddress, "Addresses of the server.").atomic().printZero(),
})
const APIResource = message(`${meta}.APIResource`, "A resource and what can be done with it.", {
  name: f.string(1, "Plural name, as in paths.").printZero(),
  singularName: f.string(6, "Singular name, for people.").printZero(),
  namespaced: f.bool(2, "Whether its objects stand in namespaces.").printZero(),
  group: f.string(8, "Group of the kind, where it is another than that of the list."),
  version: f.string(9, "Version of the kind, where it is another than that of the list."),
  kind: f.string(3, "Kind of its objects.").printZero(),
  verbs: f.list(4, e.string, "What can be done with it.").printZero(),
  shortNames: f.list(5, e.string, "Short names for people.").atomic(),
  categories: f.list(7, e.string, "Names of sets of resources that it belongs to.").atomic(),
  storageVersionHash: f.string(10, "Changes with the version in which objects are stored."),
})
const APIResourceList: Message = message(`${meta}.APIResourceList`, "The resources of a group and version.", {
  groupVersion: f.string(1, "Group and version.").printZero(),
  resources: f.list(2, APIResource, "The resources.").atomic().printZero(),
})

/** The messages of the discovery documents, by kind. They belong to the core group. */
export const DISCOVERY = { APIGroup, APIGroupList, APIVersions, APIResourceList }

export const VersionInfo: Message = message("io.k8s.apimachinery.pkg.version.Info", "What the server is.", {
  major: f.string(1, "Major version of Kubernetes.").printZero(),
  minor: f.string(2, "Minor version of Kubernetes.").printZero(),
  emulationMajor: f.string(3, "Major version that is emulated."),
  emulationMinor: f.string(4, "Minor version that is emulated."),
  minCompatibilityMajor: f.string(5, "Oldest major version that it works with."),
  minCompatibilityMinor: f.string(6, "Oldest minor version that it works with."),
  gitVersion: f.string(7, "The whole version.").printZero(),
  gitCommit: f.string(8, "The commit it was built from.").printZero(),
  gitTreeState: f.string(9, "Whether that was all it was built from.").printZero(),
  buildDate: f.string(10, "When it was built.").printZero(),
  goVersion: f.string(11, "The runtime.").printZero(),
  compiler: f.string(12, "The compiler.").printZero(),
  platform: f.string(13, "Operating system and architecture.").printZero(),
})

export const WatchEvent: Message = message(`${meta}.WatchEvent`, "One event of a watch.", {
  type: f.string(1, "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.").printZero(),
  object: f.rawExtension(2, "The object, or the Status of a failure.").required(),
})
