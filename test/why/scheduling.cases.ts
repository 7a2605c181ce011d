import { Pod } from "../../components/cluster/testing/testing.ts"
import { deployment, pod, type Situation } from "./situation.fixtures.ts"

const NODES = [
  { name: "a", labels: { disk: "hdd", zone: "east" }, capacity: { cpu: "2", memory: "4Gi" } },
  { name: "b", labels: { disk: "hdd", zone: "west" }, capacity: { cpu: "2", memory: "4Gi" } },
]
const options = { nodes: NODES }
const requests = (cpu: string): string =>
  `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: "${cpu}"}}}]}`

/** A cluster with gangs. */
const gangs = {
  ...options,
  features: { GenericWorkload: true, GangScheduling: true },
  runtimeConfig: ["scheduling.k8s.io/v1alpha2=true"],
}
const group = (minCount: number): string => `
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: g, namespace: default}
spec: {schedulingPolicy: {gang: {minCount: ${minCount}}}}
---`
const affinityTo = (zone: string): string =>
  `{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [${zone}]}]}]}}}`
const ofGang = (replicas: number, more = ""): string =>
  deployment(
    "web",
    `{schedulingGroup: {podGroupName: g}, ${more}containers: [{name: c, image: "app:1", resources: {requests: {cpu: "1"}}}]}`,
  ).replace("replicas: 1", `replicas: ${replicas}`)

export const SCHEDULING: readonly Situation[] = [
  {
    title: "pods of a group that does not exist",
    yaml: ofGang(2),
    ask: "deployment/web",
    cause: "pod-group-missing",
    says: /waits for its PodGroup default\/g, which does not exist/,
    options: gangs,
  },
  {
    title: "a gang of which a pod is missing",
    yaml: group(3) + ofGang(2),
    ask: "deployment/web",
    cause: "gang-incomplete",
    says: /2 of 3 pods of PodGroup default\/g are there/,
    options: gangs,
  },
  {
    title: "a gang for which there is room in part",
    yaml: group(5) + ofGang(5),
    ask: "podgroup/g",
    cause: "gang-without-room",
    says: /4 of 5 pods of PodGroup default\/g find a node at the same time/,
    options: gangs,
  },
  {
    title: "a gang whose pods no node may take",
    yaml: group(2) + ofGang(2, `affinity: ${affinityTo("north")}, `),
    ask: "deployment/web",
    cause: "node-affinity",
    says: /wants zone In \[north\] \(it has east\)/,
    options: gangs,
  },
  {
    title: "a pod that requests more CPU than any node has",
    yaml: deployment("web", requests("4")),
    ask: "deployment/web",
    cause: "insufficient-cpu",
    says: /needs 4 CPUs, the whole node has 2/,
    options,
  },
  {
    title: "a pod for which no node has enough CPU left",
    yaml: deployment("old", requests("1500m")).replace("replicas: 1", "replicas: 2"),
    breaks: (cluster) => cluster.apply(deployment("web", requests("1"))),
    ask: "deployment/web",
    cause: "insufficient-cpu",
    says: /needs 1 CPUs, 0\.5 of 2 free; ending pod default\/old-\S+ frees enough/,
    mends: 1,
    options,
  },
  {
    title: "a pod for which other pods of its own workload have left nothing",
    yaml: deployment("web", requests("1")).replace("replicas: 1", "replicas: 5"),
    ask: "deployment/web",
    cause: "insufficient-cpu",
    says: /needs 1 CPUs, 0 of 2 free(?!; ending)/,
    options,
  },
  {
    title: "a pod that requests more memory than any node has",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {memory: 64Gi}}}]}`),
    ask: "deployment/web",
    cause: "insufficient-memory",
    says: /needs 64Gi memory, the whole node has 3\.9Gi/,
    options,
  },
  {
    title: "a resource that no node has",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", resources: {limits: {nvidia.com/gpu: 1}}}]}`),
    ask: "deployment/web",
    cause: "insufficient-nvidia.com/gpu",
    says: /needs 1 nvidia\.com\/gpu, the whole node has 0/,
    options,
  },
  {
    title: "a nodeSelector that no node has",
    yaml: deployment("web", `{nodeSelector: {disk: ssd}, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "node-selector",
    says: /has disk=hdd, the pod's nodeSelector wants disk=ssd/,
    mends: 2,
    options,
  },
  {
    title: "a node affinity that no node matches",
    yaml: deployment("web", `{affinity: ${affinityTo("north")}, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "node-affinity",
    says: /wants zone In \[north\] \(it has east\)/,
    options,
  },
  {
    title: "a taint that the pod does not tolerate",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "taint-not-tolerated",
    says: /has the taint dedicated=db:NoSchedule, which the pod does not tolerate/,
    mends: 1,
    options: { nodes: [{ name: "a", taints: [{ key: "dedicated", value: "db", effect: "NoSchedule" }] }] },
  },
  {
    title: "a node that is cordoned",
    yaml: "",
    breaks: async (cluster) => {
      await cluster.cordon("a")
      await cluster.apply(deployment("web", `{containers: [{name: c, image: "app:1"}]}`))
    },
    ask: "deployment/web",
    cause: "node-cordoned",
    says: /node a is cordoned/,
    mends: 1,
    options: { nodes: [{ name: "a" }] },
  },
  {
    title: "a host port that another pod has",
    yaml:
      deployment("old", `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80, hostPort: 8080}]}]}`) +
      deployment("web", `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80, hostPort: 8080}]}]}`),
    ask: "deployment/web",
    cause: "host-port-taken",
    says: /has its port 8080\/TCP taken by pod default\/old-/,
    options: { nodes: 1 },
  },
  {
    title: "pods that do not want each other, and too few nodes",
    yaml: deployment(
      "web",
      `{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}, containers: [{name: c, image: "app:1"}]}`,
    ).replace("replicas: 1", "replicas: 3"),
    ask: "deployment/web",
    cause: "pod-anti-affinity",
    says: /must not share kubernetes\.io\/hostname with pods with app=web, and pod default\/web-\S+ is there/,
    options,
  },
  {
    title: "a pod that must be near another one that does not run",
    yaml: deployment(
      "web",
      `{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}, containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "pod-affinity",
    says: /same kubernetes\.io\/hostname as a pod with app=cache, and no such pod runs on any node/,
    options,
  },
  {
    title: "a spread over zones that is uneven already",
    yaml: deployment(
      "web",
      `{topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}], containers: [{name: c, image: "app:1", resources: {requests: {cpu: "1500m"}}}]}`,
    ).replace("replicas: 1", "replicas: 3"),
    ask: "deployment/web",
    cause: "topology-spread",
    says: /zone=east has 2 of these pods already and west has 0: maxSkew is 1; node b there is cordoned/,
    mends: 2,
    breaks: async (cluster) => {
      await cluster.cordon("b")
      await cluster.kubectl("delete pod --field-selector spec.nodeName=b --force")
    },
    options: {
      nodes: [
        { name: "a", labels: { zone: "east" }, capacity: { cpu: "8" } },
        { name: "b", labels: { zone: "west" }, capacity: { cpu: "2" } },
      ],
    },
  },
  {
    title: "a scheduling gate that nobody removes",
    yaml: pod("web", `{schedulingGates: [{name: example.com/wait}], containers: [{name: c, image: "app:1"}]}`),
    ask: "pod/web",
    cause: "scheduling-gated",
    says: /scheduling gates are gone: example\.com\/wait/,
  },
  {
    title: "a scheduler that does not exist",
    yaml: pod("web", `{schedulerName: my-scheduler, containers: [{name: c, image: "app:1"}]}`),
    ask: "pod/web",
    cause: "no-such-scheduler",
    says: /waits for the scheduler my-scheduler/,
  },
  {
    title: "a pod that names a node which does not exist",
    yaml: "",
    breaks: (cluster) => cluster.apply(pod("web", `{nodeName: nowhere, containers: [{name: c, image: "app:1"}]}`)),
    after: "10s",
    ask: "pod/web",
    cause: "node-missing",
    says: /Node nowhere does not exist/,
  },
  {
    title: "a cluster without nodes",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "no-nodes",
    says: /the cluster has no nodes/,
    options: { nodes: 0 },
  },
  {
    title: "a node that runs as many pods as it may",
    yaml: deployment("old", `{containers: [{name: c, image: "app:1"}]}`).replace("replicas: 1", "replicas: 2"),
    breaks: (cluster) => cluster.apply(deployment("web", `{containers: [{name: c, image: "app:1"}]}`)),
    ask: "deployment/web",
    cause: "too-many-pods",
    says: /has room for 2 pods and runs 2/,
    options: { nodes: [{ name: "a", capacity: { pods: "2" } }] },
  },
  {
    title: "a pod that is meant for one node, which is cordoned, while others are free",
    yaml: "",
    breaks: async (cluster) => {
      await cluster.cordon("a")
      await cluster.apply(deployment("web", `{nodeSelector: {gpu: "y"}, containers: [{name: c, image: "app:1"}]}`))
    },
    ask: "deployment/web",
    cause: "node-cordoned",
    says: /node a is cordoned/,
    mends: 1,
    options: { nodes: [{ name: "a", labels: { gpu: "y" } }, { name: "b" }] },
  },
  {
    title: "a pod of a DaemonSet whose node is full",
    yaml: deployment(
      "hog",
      `{nodeSelector: {kubernetes.io/hostname: a}, containers: [{name: c, image: "app:1", resources: {requests: {cpu: 1800m}}}]}`,
    ),
    breaks: (cluster) =>
      cluster.apply(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: "agent:1", resources: {requests: {cpu: 500m}}}]}}
`),
    ask: "daemonset/agent",
    cause: "insufficient-cpu",
    says: /nearest is a, which needs 0\.5 CPUs, 0\.2 of 2 free; ending pod default\/hog-\S+ frees enough/,
    mends: 1,
    options,
  },
  {
    title: "a pod that was ended for one of a higher priority",
    yaml: `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
${pod("low", requests("1500m"))}`,
    breaks: (cluster) => cluster.apply(pod("high", `{priorityClassName: high, ${requests("1500m").slice(1)}`)),
    ask: "pod/low",
    cause: "preempted",
    says: /Pod default\/low does not exist any more: it was ended to make room for a pod of a higher priority/,
    options: { nodes: [{ name: "a", capacity: { cpu: "2" } }] },
  },

  {
    title: "a sysctl that the kubelet does not allow",
    yaml: deployment(
      "web",
      `{securityContext: {sysctls: [{name: kernel.msgmax, value: "65536"}]}, containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "sysctl-forbidden",
    says: /the kubelet refused it: forbidden sysctl: "kernel\.msgmax" not allowlisted/,
    after: "5s",
  },
  {
    title: "a spread over two zones in a cluster that has one",
    yaml: deployment(
      "web",
      `{topologySpreadConstraints: [{maxSkew: 1, minDomains: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}], containers: [{name: c, image: "app:1"}]}`,
    ).replace("replicas: 1", "replicas: 2"),
    ask: "deployment/web",
    cause: "topology-spread",
    says: /there are only 1 of 2 domains/,
    options: { nodes: [{ name: "a", labels: { "topology.kubernetes.io/zone": "one" } }] },
  },
  {
    title: "a spread by a label that no node has",
    yaml: deployment(
      "web",
      `{topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}], containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "topology-spread",
    says: /has no label rack, over which the pod is spread/,
  },
  {
    title: "a processor that no node has, which no label gives it",
    yaml: deployment("web", `{nodeSelector: {kubernetes.io/arch: s390x}, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "node-selector",
    says: /has kubernetes\.io\/arch=amd64, the pod's nodeSelector wants kubernetes\.io\/arch=s390x/,
  },
  {
    title: "a node that its cloud has not initialized",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "node-uninitialized",
    says: /node a waits for its cloud controller manager to initialize it/,
    options: {
      nodes: [
        {
          name: "a",
          taints: [{ key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" }],
        },
      ],
    },
  },
  {
    title: "a pod that is too large by the overhead of its RuntimeClass",
    yaml: `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
overhead: {podFixed: {cpu: 500m}}
${deployment("web", `{runtimeClassName: kata, containers: [{name: c, image: "app:1", resources: {requests: {cpu: 7900m}}}]}`)}`,
    ask: "deployment/web",
    cause: "insufficient-cpu",
    says: /needs 8\.4 CPUs \(500m of it is the overhead of RuntimeClass kata\), the whole node has 8/,
  },
  {
    title: "an init container that is larger than any node",
    yaml: deployment(
      "web",
      `{initContainers: [{name: build, image: "app:1", resources: {requests: {cpu: "20"}}}], containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "insufficient-cpu",
    says: /needs 20 CPUs \(init container build requests 20\)/,
  },
  {
    title: "a pod that must be near another one by a label that no node has",
    yaml:
      deployment("cache", `{containers: [{name: c, image: "app:1"}]}`) +
      deployment(
        "web",
        `{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, labelSelector: {matchLabels: {app: cache}}}]}}, containers: [{name: c, image: "app:1"}]}`,
      ),
    ask: "deployment/web",
    cause: "pod-affinity",
    says: /has no label rack, by which the pod must be near pods with app=cache/,
  },
  {
    title: "a ResourceClaim that does not exist, of which the scheduler says nothing",
    yaml: deployment(
      "web",
      `{resourceClaims: [{name: gpu, resourceClaimName: gpus}], containers: [{name: c, image: "app:1", resources: {claims: [{name: gpu}]}}]}`,
    ),
    ask: "deployment/web",
    cause: "resourceclaim-missing",
    says: /ResourceClaim gpus, which resourceClaims gpu of the pod names, does not exist in namespace default/,
  },
  {
    title: "a ResourceClaim of a DeviceClass that does not exist",
    yaml: `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec: {spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu.example.com}}]}}}
${deployment("web", `{resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}], containers: [{name: c, image: "app:1", resources: {claims: [{name: gpu}]}}]}`)}`,
    ask: "deployment/web",
    cause: "deviceclass-missing",
    says: /DeviceClass gpu\.example\.com, which ResourceClaimTemplate gpus names, does not exist/,
  },
  {
    title: "a taint that has evicted what ran",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1"}]}`),
    breaks: (cluster) => cluster.kubectl("taint nodes node-0 maintenance=now:NoExecute"),
    ask: "deployment/web",
    cause: "taint-not-tolerated",
    says: /has the taint maintenance=now:NoExecute/,
    mends: 1,
    options: { nodes: 1 },
  },
  {
    title: "a RuntimeClass whose handler the node's runtime does not have",
    yaml: "",
    breaks: async (cluster) => {
      await cluster.apply(`
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
${pod("web", `{runtimeClassName: kata, nodeName: node-0, containers: [{name: c, image: "app:1"}]}`)}`)
      const { metadata } = await cluster.get(Pod, "web")
      await cluster.apply(`
apiVersion: v1
kind: Event
metadata: {name: web.1, namespace: default}
involvedObject: {apiVersion: v1, kind: Pod, name: web, namespace: default, uid: ${metadata.uid}}
type: Warning
reason: FailedCreatePodSandBox
message: 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "kata" is configured'
`)
    },
    ask: "pod/web",
    cause: "runtime-handler-missing",
    says: /the runtime of node node-0 has no handler kata, which RuntimeClass kata names/,
    options: { nodes: 1, components: { kubelet: false } },
  },
]
