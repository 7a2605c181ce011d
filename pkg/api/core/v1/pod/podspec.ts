import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { Affinity } from "./scheduling/affinity.ts"
import { Container, EphemeralContainer } from "../container/container.ts"
import { LocalObjectReference } from "../reference.ts"
import { ResourceRequirements } from "../resources/resources.ts"
import { PodSecurityContext } from "../container/securitycontext.ts"
import { Toleration, TopologySpreadConstraint } from "./scheduling/tolerations.ts"
import { Volume } from "../volume/volume.ts"
import { podSpecDefaults } from "../container/container-defaults.ts"

export const HostAlias = message("core.v1.HostAlias", "A line in the pod's /etc/hosts.", {
  ip: f.string(1, "The address.").required().ownRule(),
  hostnames: f.list(2, e.string, "Names of the address.").atomic(),
})
export interface HostAlias extends ObjectOf<typeof HostAlias> {}

export const PodDNSConfigOption = message("core.v1.PodDNSConfigOption", "An option of the resolver.", {
  name: f.string(1, "Name of the option."),
  value: f.string(2, "Value of the option, if it has one.").pointer(),
})
export interface PodDNSConfigOption extends ObjectOf<typeof PodDNSConfigOption> {}

export const PodDNSConfig = message("core.v1.PodDNSConfig", "Additions to the settings of dnsPolicy.", {
  nameservers: f.list(1, e.string, "Addresses of name servers.").atomic(),
  searches: f.list(2, e.string, "Domains to search.").atomic(),
  options: f.list(3, PodDNSConfigOption, "Options of the resolver.").atomic(),
})
export interface PodDNSConfig extends ObjectOf<typeof PodDNSConfig> {}

export const PodReadinessGate = message(
  "core.v1.PodReadinessGate",
  "A further condition without which a pod is not ready.",
  {
    conditionType: f.string(1, "Type of the condition in the pod's status.").required().printZero(),
  },
)
export interface PodReadinessGate extends ObjectOf<typeof PodReadinessGate> {}

export const PodSchedulingGate = message(
  "core.v1.PodSchedulingGate",
  "Holds a pod back from scheduling until the gate is removed.",
  {
    name: f.string(1, "Name of the gate.").required().ownRule(),
  },
)
export interface PodSchedulingGate extends ObjectOf<typeof PodSchedulingGate> {}

export const PodSchedulingGroup = message(
  "core.v1.PodSchedulingGroup",
  "The group with which a pod is scheduled.",
  {
    podGroupName: f.string(1, "Name of the PodGroup in the same namespace.").pointer(),
  },
  { unions: [{ fields: ["podGroupName"] }] },
)
export interface PodSchedulingGroup extends ObjectOf<typeof PodSchedulingGroup> {}

export const PodResourceClaim = message("core.v1.PodResourceClaim", "A claim of devices for the pod's containers.", {
  name: f.string(1, "Name by which containers refer to the claim.").required(),
  resourceClaimName: f.string(3, "An existing claim.").pointer(),
  resourceClaimTemplateName: f.string(4, "A template from which a claim is made for this pod.").pointer(),
})
export interface PodResourceClaim extends ObjectOf<typeof PodResourceClaim> {}

export const PodOS = message("core.v1.PodOS", "The operating system of the containers.", {
  name: f.string(1, "linux or windows.").required(),
})
export interface PodOS extends ObjectOf<typeof PodOS> {}

export const PodSpec = message(
  "core.v1.PodSpec",
  "The desired state of a pod.",
  {
    volumes: f
      .list(1, Volume, "Volumes that containers can mount.")
      .listMap("name")
      .merge("name")
      .retainKeys()
      .ownRule(),
    initContainers: f
      .list(20, Container, "Containers that run one after the other before the others start.")
      .listMap("name")
      .merge("name"),
    containers: f.list(2, Container, "The containers.").required().listMap("name").merge("name"),
    ephemeralContainers: f
      .list(34, EphemeralContainer, "Containers added for debugging, through their subresource only.")
      .listMap("name")
      .merge("name"),
    restartPolicy: f
      .string(3, "When containers that have ended are started again.")
      .enum("Always", "OnFailure", "Never")
      .inOrder()
      .default("Always"),
    terminationGracePeriodSeconds: f
      .int64(4, "Seconds between asking containers to end and killing them.")
      .default(30)
      .pointer(),
    activeDeadlineSeconds: f.int64(5, "Seconds after which the pod is failed.").pointer(),
    dnsPolicy: f
      .string(6, "How names are resolved.")
      .enum("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
      .inOrder()
      .default("ClusterFirst"),
    nodeSelector: f.map(7, e.string, "Labels that the node must have.").atomic(),
    serviceAccountName: f.string(8, "Service account that the pod runs as."),
    serviceAccount: f.string(9, "Deprecated name of serviceAccountName."),
    automountServiceAccountToken: f.bool(21, "Whether a token of the service account is mounted.").pointer(),
    nodeName: f.string(10, "Node that the pod is bound to."),
    hostNetwork: f.bool(11, "Whether to use the node's network namespace."),
    hostPID: f.bool(12, "Whether to use the node's process namespace."),
    hostIPC: f.bool(13, "Whether to use the node's IPC namespace."),
    shareProcessNamespace: f.bool(27, "Whether all containers share one process namespace.").pointer(),
    securityContext: f.message(14, PodSecurityContext, "Security settings of all containers.").always().pointer(),
    imagePullSecrets: f
      .list(15, LocalObjectReference, "Secrets with credentials for pulling images.")
      .listMap("name")
      .merge("name"),
    hostname: f.string(16, "Host name inside the pod; the pod's name unless given."),
    subdomain: f.string(17, "With a headless Service of this name the pod gets a DNS name of its own."),
    affinity: f.message(18, Affinity, "Rules and preferences about the pod's node."),
    schedulerName: f.string(19, "Name of the scheduler of the pod.").default("default-scheduler"),
    tolerations: f.list(22, Toleration, "Taints that the pod tolerates.").atomic(),
    hostAliases: f.list(23, HostAlias, "Further lines in /etc/hosts.").listMap("ip").merge("ip"),
    priorityClassName: f.string(24, "Class from which the priority comes."),
    priority: f.int32(25, "The higher, the sooner scheduled; filled in from the class.").pointer(),
    dnsConfig: f.message(26, PodDNSConfig, "Additions to the resolver's settings."),
    readinessGates: f.list(28, PodReadinessGate, "Conditions that must hold for the pod to be ready.").atomic(),
    runtimeClassName: f.string(29, "RuntimeClass to run with.").pointer(),
    enableServiceLinks: f.bool(30, "Whether variables for the namespace's Services are set.").pointer(),
    preemptionPolicy: f
      .string(31, "Whether pods of lower priority may be evicted for this one.")
      .enum("PreemptLowerPriority", "Never")
      .inOrder()
      .pointer()
      .ownRule(),
    overhead: f.map(32, e.quantity, "Resources that the runtime itself needs; set from the RuntimeClass."),
    topologySpreadConstraints: f
      .list(33, TopologySpreadConstraint, "How matching pods are spread over topologies.")
      .listMap("topologyKey", "whenUnsatisfiable")
      .merge("topologyKey"),
    setHostnameAsFQDN: f.bool(35, "Whether the host name is the full DNS name.").pointer(),
    os: f.message(36, PodOS, "Operating system of the containers."),
    hostUsers: f.bool(37, "False for a user namespace of the pod's own.").pointer(),
    schedulingGates: f
      .list(38, PodSchedulingGate, "While any is left, the pod is not scheduled.")
      .listMap("name")
      .merge("name"),
    resourceClaims: f.list(39, PodResourceClaim, "Claims of devices.").listMap("name").merge("name").retainKeys(),
    resources: f.message(40, ResourceRequirements, "Requests and limits of the pod as a whole."),
    hostnameOverride: f.string(41, "Host name inside the pod, whatever else is set.").pointer(),
    schedulingGroup: f.message(43, PodSchedulingGroup, "Group with which the pod is scheduled.").ownRule(),
  },
  { defaults: podSpecDefaults },
)
export interface PodSpec extends ObjectOf<typeof PodSpec> {}
