import { expect, test } from "bun:test"
import { userAgentOf } from "./agent-of.ts"

const ACCOUNT = "system:serviceaccount:kube-system:deployment-controller"

test.each([
  { name: ACCOUNT, agent: "kube-controller-manager", wants: `kube-controller-manager/V kubernetes/C/${ACCOUNT}` },
  { name: "system:kube-controller-manager", wants: "kube-controller-manager/V kubernetes/C" },
  { name: "system:kube-scheduler", wants: "kube-scheduler/V kubernetes/C/scheduler" },
  { name: "system:node:node-1", agent: "kubelet", wants: "kubelet/V kubernetes/C" },
  { name: "system:apiserver", wants: "kube-apiserver/V kubernetes/C" },
  { name: "alice", wants: "alice" },
])("the User-Agent of $name is that of upstream's program", ({ name, agent, wants }) => {
  const shown = userAgentOf({ name, agent })
  expect(shown.replace(/v1\.\d+\.\d+\S* \(linux\/\w+\)/, "V").replace(/kubernetes\/\w+/, "kubernetes/C")).toBe(wants)
})
