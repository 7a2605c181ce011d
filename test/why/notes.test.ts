/** What is well and worth knowing: it is a note, and the exit code stays 0. */
import { expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { ask, deployment } from "./situation.fixtures.ts"

interface Noted {
  readonly title: string
  readonly yaml: string
  readonly ask: string
  readonly code: string
  readonly says: RegExp
  readonly later?: (cluster: Cluster) => Promise<unknown>
}

const NOTED: readonly Noted[] = [
  {
    title: "a NetworkPolicy that selects no pod",
    yaml: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {matchLabels: {app: wbe}}}
${deployment("web", `{containers: [{name: c, image: "app:1"}]}`)}`,
    ask: "networkpolicy/closed",
    code: "policy-selects-nothing",
    says: /matches no pod of its namespace/,
  },
  {
    title: "an admission policy that no binding names",
    yaml: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec: {matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, validations: [{expression: "object.spec.replicas <= 3"}]}
`,
    ask: "validatingadmissionpolicy/few",
    code: "policy-unbound",
    says: /it is not enforced/,
  },
  {
    title: "a Job that runs fewer pods at a time than it may, because of a quota",
    yaml: `
apiVersion: v1
kind: ResourceQuota
metadata: {name: few}
spec: {hard: {pods: "2"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: many}
spec: {parallelism: 4, completions: 4, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "app:1"}]}}}
`,
    ask: "job/many",
    code: "quota-exceeded",
    says: /ResourceQuota default\/few does not allow a further pod/,
  },
  {
    title: "a StatefulSet whose partition keeps its pods as they are",
    yaml: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  updateStrategy: {rollingUpdate: {partition: 2}}
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: "app:1"}]}}
`,
    later: (cluster) => cluster.kubectl("set image statefulset/db c=app:2"),
    ask: "statefulset/db",
    code: "rollout-partition",
    says: /only pods from number 2 on get the new template/,
  },
  {
    title: "a Service that answers from outside on some nodes only",
    yaml: `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, externalTrafficPolicy: Local, selector: {app: web}, ports: [{port: 80}]}
${deployment("web", `{containers: [{name: c, image: "app:1"}]}`)}`,
    ask: "service/web",
    code: "external-traffic-local",
    says: /from outside only node-\d answers: .* the other node has no ready pod of it/,
  },
]

test.each([...NOTED])("$title is well, and that is said", async ({ yaml, later, ask: about, code, says }) => {
  // given
  await using cluster = await startCluster({ nodes: 2, seed: 1 })
  await cluster.apply(yaml)
  await cluster.advance("1m")
  await later?.(cluster)
  await cluster.advance("1m")
  // when
  const { code: exitCode, answer } = await ask(cluster, about)
  // then
  const note = answer.findings.find(({ cause }) => cause.code === code)
  expect({ exitCode, state: answer.state, weight: note?.weight }).toEqual({
    exitCode: 0,
    state: "healthy",
    weight: "note",
  })
  expect(note?.cause.message).toMatch(says)
})
