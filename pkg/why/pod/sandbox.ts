import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { compareQuantities, fromUnits, quantity } from "../../apimachinery/scalars/quantity.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { pullFailure } from "./image.ts"
import { eventLine, eventsOf, seenAt } from "../events.ts"
import { memoryFinding } from "./start.ts"

/** Events that name why a pod's containers cannot begin. */
const REASONS: Readonly<Record<string, readonly [code: string, says: string]>> = {
  FailedMount: ["mount-failed", "a volume cannot be mounted"],
  FailedAttachVolume: ["attach-failed", "a volume cannot be attached to its node"],
  FailedMapVolume: ["mount-failed", "a volume cannot be mapped"],
  FailedCreatePodSandBox: ["sandbox-failed", "its sandbox cannot be made"],
  NetworkNotReady: ["node-network-unavailable", "the network of its node is not ready"],
  FailedCreatePodContainer: ["start-failed", "a container cannot be made"],
}

interface Known {
  readonly words: RegExp
  readonly code: string
  readonly says: (match: readonly string[], pod: Pod) => string
  readonly hint?: string
}

/** Messages that say more than that something failed: those of kubelets, containerd and CNI plugins. */
const KNOWN: readonly Known[] = [
  {
    words: /^.*Multi-Attach.*$/is,
    code: "volume-in-use",
    says: ([message = ""]) =>
      `a volume of it is attached to another node, and can be used by one at a time: ${message}`,
    hint: "end the pod that uses it there, or use a volume with ReadWriteMany",
  },
  {
    words: /driver name (\S+) not found in the list of registered CSI drivers|not supported \(CSI driver ([^)]+)\)/,
    code: "csi-driver-missing",
    says: ([, first, second = ""], { spec }) =>
      `CSI driver ${first ?? second}, which mounts a volume of it, does not run on node ${spec.nodeName ?? ""}`,
    hint: "install the driver, or see why its DaemonSet has no pod on this node",
  },
  {
    words: /volume (\S+) has volumeMode Block, but is specified in volumeMounts/,
    code: "volume-is-block",
    says: ([, volume = ""]) => `volume ${volume} is a block device (volumeMode Block), and is mounted as a file system`,
    hint: "name it in volumeDevices with a devicePath, or use a claim with volumeMode Filesystem",
  },
  {
    words: /no runtime for "([^"]+)" is configured|RuntimeHandler "([^"]+)" not supported/,
    code: "runtime-handler-missing",
    says: ([, first, second = ""], { spec }) =>
      `the runtime of node ${spec.nodeName ?? ""} has no handler ${first ?? second}, which RuntimeClass ${spec.runtimeClassName ?? ""} names`,
    hint: "configure the handler in containerd on this node, or limit the class to nodes that have it (scheduling.nodeSelector)",
  },
  {
    // Source: pkg/kubelet/userns/userns_manager.go.
    words: /runtime does not support user namespaces/,
    code: "user-namespaces-missing",
    says: (_match, { spec }) =>
      `the runtime of node ${spec.nodeName ?? ""} has no user namespaces, which hostUsers: false asks for`,
    hint: "take hostUsers: false away, or give the node containerd 2.0 and runc 1.2 or newer on Linux 6.3 or newer",
  },
  {
    words: /image volumes need (\S+ \S+) or newer, and this is (\S+)/,
    code: "image-volumes-missing",
    says: ([, wanted = "", is = ""], { spec }) =>
      `node ${spec.nodeName ?? ""} cannot mount an image as a volume: that needs ${wanted} or newer, and it has ${is}`,
    hint: "renew containerd on the node, or copy the files from the image in an init container",
  },
  {
    words: /no IP addresses available in range set|failed to (?:assign|allocate) an? IP address|no available IP/i,
    code: "pod-addresses-used-up",
    says: (_match, { spec }) => `node ${spec.nodeName ?? ""} has no address left for it`,
    hint: "end pods there, or give the node a larger range of pod addresses",
  },
  {
    words: /cni plugin not initialized|no networks found in|failed to find plugin "([^"]+)" in path/i,
    code: "node-network-unavailable",
    says: ([, plugin], { spec }) =>
      `the network of node ${spec.nodeName ?? ""} is not set up: ${plugin === undefined ? "it has no configuration of a CNI plugin" : `its CNI plugin ${plugin} is not there`}`,
    hint: "see whether the DaemonSet of the network plugin runs on this node",
  },
]

const WAITS = /^Unable to attach or mount volumes: .*(?:timed out waiting for the condition|deadline exceeded)/s

/** Returns why the kubelet does not get as far as the containers, by its last Events. */
export async function sandboxFindings(pod: Pod, ward: Ward): Promise<readonly Finding[]> {
  const events = (await eventsOf(ward.reader, pod)).filter(({ reason = "" }) => REASONS[reason] !== undefined)
  const sorted = events.toSorted((a, b) => seenAt(b) - seenAt(a))
  // That the kubelet waits for volumes says nothing of why; what failed meanwhile does.
  const event = sorted.find(({ message = "" }) => !WAITS.test(message)) ?? sorted[0]
  if (event === undefined) return []
  const { reason = "", message = "" } = event
  const evidence = [eventLine(event)]
  const image = imageVolumeFinding(pod, message, evidence)
  if (image !== undefined) return [image]
  const tight = /cannot allocate memory|init was OOM-killed/i.test(message) ? tightContainer(pod) : undefined
  if (tight !== undefined) return [memoryFinding(tight.name, tight.resources, evidence)]
  for (const { words, code, says, hint } of KNOWN) {
    const match = words.exec(message)
    if (match !== null) return [finding(code, says(match, pod), { evidence, hints: hint === undefined ? [] : [hint] })]
  }
  const [code, says] = REASONS[reason]!
  return [finding(code, `${says}: ${message}`, { evidence })]
}

/** No program starts with a memory limit below this, in bytes. */
const TOO_LITTLE = 2 ** 20

/** Returns the container whose memory limit leaves no room for any program. */
const tightContainer = ({ spec }: Pod) =>
  [...spec.containers, ...(spec.initContainers ?? [])].find(({ resources }) => {
    const limit = resources?.limits?.["memory"]
    return limit !== undefined && compareQuantities(quantity(limit), fromUnits(TOO_LITTLE)) < 0
  })

/** Returns why the image of an image volume is not there. */
function imageVolumeFinding({ spec }: Pod, message: string, evidence: readonly string[]): Finding | undefined {
  const image = /image "([^"]+)"/.exec(message)?.[1]
  const volume = spec.volumes?.find((one) => one.image !== undefined && one.image.reference === image)
  if (image === undefined || volume === undefined) return undefined
  if (/pull policy of Never|ErrImageNeverPull/.test(message))
    return finding(
      "image-never-pulled",
      `image ${image} of volume ${volume.name} is not on node ${spec.nodeName ?? ""}, and pullPolicy Never forbids to pull it`,
      { evidence, hints: ["import it there (k3ts images import), or set pullPolicy: IfNotPresent"] },
    )
  const failure = pullFailure(image, message)
  return finding(
    failure?.code ?? "image-pull-failed",
    failure === undefined
      ? `image ${image} of volume ${volume.name} cannot be pulled: ${message}`
      : `volume ${volume.name} cannot be mounted: ${failure.says}`,
    { evidence, hints: [`correct the reference of volume ${volume.name}`] },
  )
}
