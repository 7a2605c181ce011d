import { deployment, pod, type Situation } from "./situation.fixtures.ts"

const web = deployment("web", `{containers: [{name: c, image: "app:1"}]}`)

export const NODES: readonly Situation[] = [
  {
    title: "a machine that is off",
    yaml: "",
    breaks: (cluster) => cluster.faults.nodeLost("node-0"),
    ask: "node/node-0",
    cause: "node-not-ready",
    says: /the kubelet of node node-0 has not reported for \S+: the machine is off/,
    options: { nodes: 1 },
  },
  {
    title: "a pod on a machine that is off",
    yaml: pod("web", `{containers: [{name: c, image: "app:1"}]}`),
    breaks: (cluster) => cluster.faults.nodeLost("node-0"),
    ask: "pod/web",
    cause: "node-not-ready",
    says: /the kubelet of node node-0 has not reported/,
    options: { nodes: 1 },
  },
  {
    title: "a Deployment for which no node is ready",
    yaml: "",
    breaks: async (cluster) => {
      await cluster.faults.nodeLost("node-0")
      await cluster.advance("2m")
      await cluster.apply(web)
    },
    ask: "deployment/web",
    cause: "node-not-ready",
    says: /the kubelet of node node-0 has not reported/,
    options: { nodes: 1 },
  },
  {
    title: "a node that is cordoned",
    yaml: "",
    breaks: (cluster) => cluster.cordon("node-0"),
    ask: "node/node-0",
    cause: "node-cordoned",
    says: /node node-0 is cordoned/,
    mends: 1,
    options: { nodes: 1 },
  },
  {
    title: "a node without disk space",
    yaml: web,
    breaks: (cluster) => cluster.faults.nodeOutOfDisk("node-0"),
    ask: "deployment/web",
    cause: "node-pressure",
    says: /node node-0 runs out of disk space/,
    options: { nodes: 1 },
    after: "10m",
  },
  {
    title: "a pod of a StatefulSet whose volume is on a machine that is off",
    yaml: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {nodeSelector: {kubernetes.io/hostname: node-0}, containers: [{name: c, image: "db:1"}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`,
    breaks: (cluster) => cluster.faults.nodeLost("node-0"),
    ask: "statefulset/db",
    cause: "node-not-ready",
    says: /the kubelet of node node-0 has not reported/,
    after: "10m",
  },
  {
    title: "an extension server whose Service does not exist",
    yaml: `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec: {group: metrics.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {name: gone, namespace: default}}
`,
    ask: "apiservice/v1.metrics.example.com",
    cause: "service-missing",
    says: /Service default\/gone does not exist/,
  },
]
