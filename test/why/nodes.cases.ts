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
]
