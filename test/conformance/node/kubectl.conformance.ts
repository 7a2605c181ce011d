/**
 * What kubectl does with pods that run. After kubectl.go and logs.go of test/e2e/kubectl, and the pods of
 * test/e2e/auth/service_accounts.go.
 */
import { expect } from "bun:test"
import type { Kubectl } from "../../harness/kubectl.ts"
import { WEB, sh, stay } from "../../harness/cluster.ts"
import { running } from "../workloads/workload-cluster.ts"
import { isReady, until, type ContainerSpec, type TestNamespace } from "./namespace.ts"
import { withKubectl } from "./kubectl.ts"
import { program, programVolumes } from "./programs/programs.ts"
import { describeStandIns } from "./stand-in.ts"

const LABELS = { app: "agnhost", role: "primary" }
const SELECTOR = "labelSelector=app%3Dagnhost"

/** Runs kubectl in the namespace and returns its output. @throws Error when it fails */
const runner = (ns: TestNamespace, kubectl: Kubectl) => async (args: string, input?: object) => {
  const options = input === undefined ? {} : { input: JSON.stringify(input) }
  const { code, out, err } = await kubectl.run([`--namespace=${ns.name}`, ...args.split(" ")], options)
  if (code !== 0) throw new Error(`kubectl ${args}: ${err}`)
  return out
}
const controller = (
  ns: TestNamespace,
  name: string,
  labels: object,
  replicas: number,
  container: Partial<ContainerSpec>,
) => ({
  apiVersion: "v1",
  kind: "ReplicationController",
  metadata: { name, labels },
  spec: {
    replicas,
    selector: labels,
    template: {
      metadata: { labels },
      spec: ns.podOf("", { restartPolicy: "Always", containers: [{ name, ...container }] }).spec,
    },
  },
})
const createPrimary = async (ns: TestNamespace, run: ReturnType<typeof runner>) => {
  const container = { command: stay("echo Paused"), ports: [{ name: "agnhost-server", containerPort: 6379 }] }
  await run("create -f -", controller(ns, "agnhost-primary", LABELS, 1, container))
  const [pod] = await ns.cluster.untilList(`${ns.path}/pods?${SELECTOR}`, running(1))
  return pod!.metadata.name
}
/** Checks that each line of a description contains its words in order: checkOutput in kubectl.go. */
const expectLines = (text: string, lines: readonly (readonly string[])[]) => {
  for (const words of lines) {
    const pattern = words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join(".*")
    expect(text).toMatch(new RegExp(pattern))
  }
}

describeStandIns("kubectl", (standIn) => {
  const withRunner = (title: string, body: (ns: TestNamespace, run: ReturnType<typeof runner>) => Promise<void>) =>
    standIn(title, (ns) => withKubectl(ns, (kubectl) => body(ns, runner(ns, kubectl))))

  withRunner(
    "Kubectl client Kubectl describe should check if kubectl describe prints relevant information for rc and pods",
    async (ns, run) => {
      const pod = await createPrimary(ns, run)
      await run("create -f -", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "agnhost-primary", labels: LABELS },
        spec: { ports: [{ port: 6379, targetPort: "agnhost-server" }], selector: LABELS },
      })
      const [node] = (await ns.cluster.get("/api/v1/nodes")).items
      const labelled = [["Labels:", "app=agnhost"], ["role=primary"], ["Annotations:"]]
      const image = (await ns.cluster.get(`${ns.path}/pods/${pod}`)).spec["containers"] as { image: string }[]
      expectLines(await run(`describe pod ${pod}`), [
        ["Name:", "agnhost-primary-"],
        ["Namespace:", ns.name],
        ["Node:"],
        ...labelled,
        ["Status:", "Running"],
        ["IP:"],
        ["Controlled By:", "ReplicationController/agnhost-primary"],
        ["Image:", image[0]!.image],
        ["State:", "Running"],
        ["QoS Class:", "BestEffort"],
      ])
      expectLines(await run("describe rc agnhost-primary"), [
        ["Name:", "agnhost-primary"],
        ["Namespace:", ns.name],
        ["Selector:", "app=agnhost,role=primary"],
        ...labelled,
        ["Replicas:", "1 current", "1 desired"],
        ["Pods Status:", "1 Running", "0 Waiting", "0 Succeeded", "0 Failed"],
        ["Pod Template:"],
        ["Image:", image[0]!.image],
        ["Events:"],
      ])
      expectLines(await run("describe service agnhost-primary"), [
        ["Name:", "agnhost-primary"],
        ["Namespace:", ns.name],
        ...labelled,
        ["Selector:", "app=agnhost", "role=primary"],
        ["Type:", "ClusterIP"],
        ["IP:"],
        ["Port:", "<unset>", "6379/TCP"],
        ["Endpoints:"],
        ["Session Affinity:", "None"],
      ])
      expectLines(await run(`describe node ${node!.metadata.name}`), [
        ["Name:", node!.metadata.name],
        ["Labels:"],
        ["Annotations:"],
        ["CreationTimestamp:"],
        ["Conditions:"],
        ["Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message"],
        ["Addresses:"],
        ["Capacity:"],
        ["Kernel Version:"],
        ["OS Image:"],
        ["Container Runtime Version:"],
        ["Kubelet Version:"],
        ["Pods:"],
      ])
      expectLines(await run(`describe namespace ${ns.name}`), [
        ["Name:", ns.name],
        ["Labels:"],
        ["Annotations:"],
        ["Status:", "Active"],
      ])
    },
  )

  withRunner("Kubectl client Kubectl expose should create services for rc", async (ns, run) => {
    const pod = await createPrimary(ns, run)
    await ns.untilLog(pod, (log) => log.includes("Paused"))
    for (const [name, port, args] of [
      ["rm2", 1234, "expose rc agnhost-primary --name=rm2 --port=1234 --target-port=6379"],
      ["rm3", 2345, "expose service rm2 --name=rm3 --port=2345 --target-port=6379"],
    ] as const) {
      await run(args)
      const path = `${ns.at("discovery.k8s.io/v1")}/endpointslices?labelSelector=kubernetes.io/service-name%3D${name}`
      const [slice] = await ns.cluster.untilList(
        path,
        ([found]) => ((found?.["endpoints"] ?? []) as object[]).length === 1,
      )
      expect(slice!["ports"]).toMatchObject([{ port: 6379 }])
      expect((await ns.cluster.get(`${ns.path}/services/${name}`)).spec["ports"]).toMatchObject([
        { port, targetPort: 6379 },
      ])
    }
  })

  withRunner("Kubectl client Kubectl patch should add annotations for pods in rc", async (ns, run) => {
    const pod = await createPrimary(ns, run)
    await run(`patch pod ${pod} -p {"metadata":{"annotations":{"x":"y"}}}`)
    expect((await ns.cluster.get(`${ns.path}/pods/${pod}`)).metadata.annotations).toMatchObject({ x: "y" })
  })

  const DEMO = { name: "update-demo", version: "nautilus" }
  /** Waits until this number of pods runs and each serves its page through the API server: validateController. */
  const untilDemo = async (ns: TestNamespace, run: ReturnType<typeof runner>, count: number) => {
    const path = `${ns.path}/pods?labelSelector=name%3Dupdate-demo`
    await ns.cluster.untilList(path, (pods) => pods.length === count && pods.every(isReady))
    const names = (await run("get pods -l name=update-demo -o jsonpath={.items[*].metadata.name}")).split(" ")
    expect(names).toHaveLength(count)
    for (const name of names) {
      expect(await run(`get pod ${name} -o jsonpath={.spec.containers[0].image}`)).toBe(WEB)
      expect((await ns.cluster.send("GET", `${ns.path}/pods/${name}:80/proxy/`)).text).toContain("k3ts web 1")
    }
  }
  const demo = (ns: TestNamespace) =>
    controller(ns, "update-demo-nautilus", DEMO, 2, { image: WEB, ports: [{ containerPort: 80 }] })

  withRunner("Kubectl client Update Demo should create and stop a replication controller", async (ns, run) => {
    await run("create -f -", demo(ns))
    await untilDemo(ns, run, 2)
    await run("delete --grace-period=0 --force -f -", demo(ns))
    await ns.cluster.untilList(`${ns.path}/pods?labelSelector=name%3Dupdate-demo`, (pods) => pods.length === 0)
    expect(await run("get rc,svc -l name=update-demo --no-headers --ignore-not-found")).toBe("")
  })

  withRunner("Kubectl client Update Demo should scale a replication controller", async (ns, run) => {
    await run("create -f -", demo(ns))
    await untilDemo(ns, run, 2)
    await run("scale rc update-demo-nautilus --replicas=1 --timeout=5m")
    await untilDemo(ns, run, 1)
    await run("scale rc update-demo-nautilus --replicas=2 --timeout=5m")
    await untilDemo(ns, run, 2)
  })

  withRunner("Kubectl client Guestbook application should create and stop a working application", async (ns, run) => {
    const part = (name: string, role: string, port: number, replicas: number) => {
      const labels = { app: name }
      const container = {
        ...program("guestbook.ts", { ROLE: role }),
        ports: [{ containerPort: port }],
        readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
      }
      const pod = ns.podOf("", { restartPolicy: "Always", volumes: programVolumes, containers: [container] })
      return [
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name, labels },
          spec: { ports: [{ port, targetPort: port }], selector: labels },
        },
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name, labels },
          spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod.spec } },
        },
      ]
    }
    const items = [
      ...part("agnhost-replica", "replica", 6379, 2),
      ...part("frontend", "frontend", 80, 3),
      ...part("agnhost-primary", "primary", 6379, 1),
    ]
    const list = { apiVersion: "v1", kind: "List", items }
    await run("create -f -", list)
    await ns.cluster.untilList(`${ns.path}/pods`, (pods) => pods.length === 6 && pods.every(isReady))
    const ask = async (query: string) =>
      (await ns.cluster.send("GET", `${ns.path}/services/frontend/proxy/guestbook?key=messages&${query}`)).text
    await until(
      "an empty guestbook",
      () => ask("cmd=get&value="),
      (text) => text === '{"data":""}',
    )
    expect(await ask("cmd=set&value=TestEntry")).toBe('{"data":""}')
    await until(
      "the entry",
      () => ask("cmd=get&value="),
      (text) => text === '{"data":"TestEntry"}',
    )
    await run("delete --grace-period=0 --force -f -", list)
    await ns.cluster.untilList(`${ns.path}/pods`, (pods) => pods.length === 0)
  })

  withRunner("Kubectl logs logs should be able to retrieve and filter logs", async (ns, run) => {
    const script =
      'i=0; while [ $i -lt 100 ]; do echo "$i GET /api/v1/namespaces/kube-system/pods/$i"; i=$((i+1)); done'
    await ns.runPod("logs", { containers: [{ command: stay(script) }] })
    await ns.untilLog("logs", (log) => log.includes("/pods/99"))
    const lines = (text: string) => text.replace(/\n$/, "").split("\n")
    expect(await run("logs logs c")).toContain("/api/v1/namespaces/kube-system")
    expect(lines(await run("logs logs c --tail=1"))).toEqual(["99 GET /api/v1/namespaces/kube-system/pods/99"])
    expect(await run("logs logs c --limit-bytes=1")).toBe("0")
    const [line, ...more] = lines(await run("logs logs c --tail=1 --timestamps"))
    expect([more, line!.split(" ").length > 1]).toEqual([[], true])
    expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d) /)
    await Bun.sleep(2500)
    const [recent, older] = [await run("logs logs c --since=1s"), await run("logs logs c --since=24h")]
    expect(lines(recent).length).toBeLessThan(lines(older).length)
  })

  standIn("ServiceAccounts should mount an API token into pods", async (ns) => {
    const account = await ns.cluster.get(`${ns.path}/serviceaccounts/default`)
    await ns.runPod("pod")
    const read = (file: string) => ns.sh("pod", `cat /var/run/secrets/kubernetes.io/serviceaccount/${file}`)
    const review = await ns.cluster.post("/apis/authentication.k8s.io/v1/tokenreviews", {
      spec: { token: await read("token") },
    })
    expect(review.status).toMatchObject({
      authenticated: true,
      user: {
        username: `system:serviceaccount:${ns.name}:default`,
        uid: account.metadata.uid,
        groups: expect.arrayContaining([
          "system:authenticated",
          "system:serviceaccounts",
          `system:serviceaccounts:${ns.name}`,
        ]) as string[],
        extra: { "authentication.kubernetes.io/pod-name": ["pod"] },
      },
    })
    const root = await ns.cluster.get(`${ns.path}/configmaps/kube-root-ca.crt`)
    expect(await read("ca.crt")).toBe(root.data!["ca.crt"]!)
    expect(await read("namespace")).toBe(ns.name)
  })

  const tokenVolume = (path: string, audience?: string) => ({
    name: "token",
    projected: {
      sources: [
        { serviceAccountToken: { path, expirationSeconds: 7200, ...(audience === undefined ? {} : { audience }) } },
      ],
    },
  })
  standIn("ServiceAccounts should mount projected service account token", async (ns) => {
    const token = await ns.output(
      "pod",
      "cat /test-volume/token",
      { volumeMounts: [{ name: "token", mountPath: "/test-volume" }] },
      { volumes: [tokenVolume("token")] },
    )
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    const claims = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>
    expect(claims).toMatchObject({
      sub: `system:serviceaccount:${ns.name}:default`,
      "kubernetes.io": { namespace: ns.name },
    })
  })

  standIn(
    "ServiceAccounts ServiceAccountIssuerDiscovery should support OIDC discovery of service account issuer",
    async (ns) => {
      const binding = `${ns.name}-issuer-discovery`
      await ns.create("serviceaccounts", "oidc")
      await ns.cluster.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        metadata: { name: binding },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "system:service-account-issuer-discovery",
        },
        subjects: [{ kind: "ServiceAccount", name: "oidc", namespace: ns.name }],
      })
      const container = program("discover-issuer.ts")
      const { pod, log } = await ns.endOf("oidc-discovery-validator", {
        serviceAccountName: "oidc",
        volumes: [...programVolumes, tokenVolume("sa-token", "oidc-discovery-test")],
        containers: [
          {
            ...container,
            volumeMounts: [
              ...container.volumeMounts!,
              { name: "token", mountPath: "/var/run/secrets/tokens", readOnly: true },
            ],
          },
        ],
      })
      expect([pod.status.phase, log]).toEqual(["Succeeded", `completed: system:serviceaccount:${ns.name}:oidc\n`])
      await ns.cluster.delete(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${binding}`)
    },
  )

  standIn("RuntimeClass should schedule a Pod requesting a RuntimeClass without PodOverhead", (ns) =>
    withRuntimeClass(ns),
  )
  standIn("RuntimeClass should schedule a Pod requesting a RuntimeClass and initialize its Overhead", (ns) =>
    withRuntimeClass(ns, { podFixed: { cpu: "10m", memory: "1Mi" } }),
  )

  /** Creates a pod with a RuntimeClass that the runtime has, and with its overhead. */
  async function withRuntimeClass(ns: TestNamespace, overhead?: { readonly podFixed: Record<string, string> }) {
    const path = "/apis/node.k8s.io/v1/runtimeclasses"
    await ns.cluster.post(path, {
      metadata: { name: ns.name },
      handler: "runc",
      ...(overhead === undefined ? {} : { overhead }),
    })
    const { pod, log } = await ns.endOf("pod", { runtimeClassName: ns.name, containers: [{ command: sh("echo ran") }] })
    expect([pod.status.phase, log, pod.spec["overhead"] as unknown]).toEqual(["Succeeded", "ran\n", overhead?.podFixed])
    await ns.cluster.delete(`${path}/${ns.name}`)
  }
})
