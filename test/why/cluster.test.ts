/** `k3ts why` alone: the whole cluster; what may not be read; and objects that are well. */
import { describe, expect, test } from "bun:test"
import { startCluster } from "../../components/cluster/testing/testing.ts"
import type { Overview } from "../../pkg/why/cluster.ts"
import { ask, deployment, pod } from "./situation.fixtures.ts"

const CONFIGURED = `{containers: [{name: c, image: "app:1", envFrom: [{configMapRef: {name: conf}}]}]}`

describe("why without an object", () => {
  test("says that all is well where it is", async () => {
    // given a cluster in which something of every usual kind runs
    await using cluster = await startCluster({ nodes: 2, network: "real" })
    await cluster.apply(deployment("web", `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}]}]}`))
    await cluster.apply(`
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: often}
spec: {schedule: "*/2 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "job:1"}]}}}}}
`)
    cluster.setImage("job:1", { runsMs: 1000 })
    await cluster.advance("10m")

    // when somebody asks why
    const { code, stdout } = await cluster.kubectl("why")

    // then nothing is unwell
    expect(stdout).toMatch(/^All is well: \d+ objects were looked at\n$/)
    expect(code).toBe(0)
  })

  test("tells of twenty faults of an Ingress at most, however many backends it has", async () => {
    // given an Ingress to many Services that do not exist
    await using cluster = await startCluster({ nodes: 1, network: "real" })
    const paths = Array.from(
      { length: 300 },
      (_, i) => `{path: /${i}, pathType: Prefix, backend: {service: {name: absent-${i}-service, port: {number: 80}}}}`,
    )
    await cluster.apply(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: many}
spec: {rules: [{http: {paths: [${paths.join(", ")}]}}]}
`)

    // when somebody asks why
    const { answer } = await ask(cluster, "ingress/many")

    // then
    const missing = answer.findings.filter(({ cause }) => cause.code === "ingress-service-missing")
    expect(missing).toHaveLength(20)
  })

  test("lists what is unwell by cause, what most suffer from first", async () => {
    // given three Deployments that lack one ConfigMap, and one that crashes behind a Service
    await using cluster = await startCluster({ nodes: 2, images: { "bad:1": { runsMs: 10, exitCode: 3 } } })
    for (const name of ["a", "b", "c"]) await cluster.apply(deployment(name, CONFIGURED))
    await cluster.apply(deployment("crash", `{containers: [{name: c, image: "bad:1"}]}`))
    await cluster.apply(
      "apiVersion: v1\nkind: Service\nmetadata: {name: crash}\nspec: {selector: {app: crash}, ports: [{port: 80}]}",
    )
    await cluster.advance("3m")

    // when somebody asks why
    const { code, stdout } = await cluster.kubectl("why -o json")
    const text = (await cluster.kubectl("why")).stdout

    // then there are two causes, and the Service is told of with what it depends on
    const { groups } = JSON.parse(stdout) as Overview
    expect(
      groups.map(({ cause, objects }) => [cause.code, objects.map(({ kind, name }) => `${kind} ${name}`)]),
    ).toEqual([
      ["configmap-missing", ["Deployment a", "Deployment b", "Deployment c"]],
      ["exits-with-error", ["Deployment crash", "Service crash"]],
    ])
    expect(code).toBe(1)
    expect(text).toContain("2 causes of what is unwell, the worst first:\n\n1. ConfigMap conf")
  })
})

describe("why", () => {
  test("takes conditions that are well when they are False, or as parts of something that is ready, for well", async () => {
    // given FlowSchemas, which say Dangling=False, and a custom resource that is ready with a part that is not active
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scalers.example.com}
spec:
  group: example.com
  names: {kind: Scaler, plural: scalers}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`)
    await cluster.advance("10s")
    await cluster.apply(`
apiVersion: example.com/v1
kind: Scaler
metadata: {name: s}
status: {conditions: [{type: Ready, status: "True"}, {type: Active, status: "False"}]}
`)

    // when somebody asks why, then they are well
    expect((await ask(cluster, "flowschema/catch-all")).answer.state).toBe("healthy")
    expect((await ask(cluster, "scaler/s")).answer.state).toBe("healthy")
  })

  test("says what it may not read, and then does not know", async () => {
    // given a user who may read pods alone
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(pod("web", `{nodeSelector: {a: b}, containers: [{name: c, image: "app:1"}]}`))
    await cluster.kubectl("create role pods --verb=get,list --resource=pods")
    await cluster.kubectl("create rolebinding pods --role=pods --user=jane")
    await cluster.advance("10s")

    // when this user asks why a pod has no node
    const { code, answer } = await ask(cluster, "pod/web", "--as=jane")

    // then no cause is named
    expect(answer.findings).toEqual([])
    expect(answer.unknown.join()).toContain('cannot list resource "nodes"')
    expect(code).toBe(2)
  })

  test("names no command with a name that a program would take for an option of its own", async () => {
    // given pods that refer to objects by the words of an option
    const images = { "private.corp/web:1": { pullError: "401 Unauthorized" } }
    await using cluster = await startCluster({ nodes: 1, images })
    const option = '"--kubeconfig=/tmp/theirs"'
    await cluster.apply(
      pod("pulls", `{imagePullSecrets: [{name: ${option}}], containers: [{name: c, image: "private.corp/web:1"}]}`) +
        pod(
          "reads",
          `{containers: [{name: c, image: "app:1"}], volumes: [{name: v, secret: {secretName: ${option}}}]}`,
        ),
    )
    await cluster.advance("3m")

    // when somebody asks why, then it is told of, and stands in no command
    for (const [name, code] of [
      ["pulls", "image-credentials"],
      ["reads", "secret-missing"],
    ]) {
      const [first] = (await ask(cluster, `pod/${name}`)).answer.findings
      expect(first?.cause).toMatchObject({ code, message: expect.stringContaining("--kubeconfig=/tmp/theirs") })
      expect([...first!.hints, ...first!.mends.map(({ command }) => command)].join("\n")).not.toContain("--kubeconfig")
    }
  })

  test("takes KIND NAME, short names and other kinds, and refuses what is neither", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(deployment("web", `{containers: [{name: c, image: "app:1"}]}`))
    expect((await cluster.kubectl("why deploy web")).stdout).toBe(
      "Deployment default/web is well: 1 of 1 pods are available\n",
    )
    expect((await cluster.kubectl("why deployments.apps/web")).code).toBe(0)
    expect((await cluster.kubectl("why lease/node-0 -n kube-node-lease")).stdout).toBe(
      "Lease kube-node-lease/node-0 is well: exists\n",
    )
    expect((await cluster.kubectl("why gizmo/a")).stderr).toContain('the server has no kind "gizmo"')
    expect((await cluster.kubectl("why web")).stderr).toContain('"web" is not KIND/NAME, such as deployment/web')
  })
})
