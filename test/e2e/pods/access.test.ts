/**
 * Pods as clients of the API; volumes with content from the API; deletion of namespaces; evictions, budgets and drains.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, type Cluster } from "../../harness/cluster.ts"

describeOnNode("a pod", () => {
  let cluster: Cluster
  beforeAll(async () => void (cluster = await startCluster()))
  afterAll(() => cluster?.[Symbol.asyncDispose]())
  const ok = (args: string | readonly string[], input?: string) =>
    cluster.kubectl.ok(args, input === undefined ? {} : { input })

  test("uses the API with its service account's token, as far as RBAC permits", async () => {
    await ok("create serviceaccount reader")
    await ok("create role reader --verb=get,list --resource=configmaps")
    await ok("create rolebinding reader --role=reader --serviceaccount=default:reader")
    await cluster.create(ConfigMap, { metadata: { name: "seen", namespace: "default" }, data: { a: "b" } })
    await Promise.all([
      cluster.runPod("reader", {
        serviceAccountName: "reader",
        containers: [{ name: "c", image: BUSYBOX, command: stay() }],
      }),
      cluster.runPod("nobody", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] }),
    ])
    // busybox has no TLS, so the test reads the token from the pod and uses it itself
    const folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    const asPod = async (pod: string, method: string, path: string) => {
      const token = (await cluster.kubectl.sh(pod, `cat ${folder}/token`)).trim()
      const { status, body } = await cluster.server.raw(method, path, { authorization: `Bearer ${token}` })
      return { status, body: JSON.parse(body.toString()) as { message?: string; data?: object } }
    }
    expect(await asPod("reader", "GET", "/api/v1/namespaces/default/configmaps/seen")).toMatchObject({
      status: 200,
      body: { data: { a: "b" } },
    })
    expect((await asPod("reader", "DELETE", "/api/v1/namespaces/default/configmaps/seen")).body.message).toBe(
      'configmaps "seen" is forbidden: User "system:serviceaccount:default:reader" cannot delete resource ' +
        '"configmaps" in API group "" in the namespace "default"',
    )
    expect((await asPod("nobody", "GET", "/api/v1/namespaces/default/configmaps/seen")).status).toBe(403)
    expect(await cluster.kubectl.sh("reader", `cat ${folder}/namespace`)).toBe("default")
    expect(await cluster.kubectl.sh("reader", `cat ${folder}/ca.crt`)).toContain("BEGIN CERTIFICATE")
    // the API can be reached from inside of the pod
    expect(
      await cluster.kubectl.sh(
        "reader",
        "nc -w 3 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT < /dev/null && echo open",
      ),
    ).toBe("open\n")
    // and the token is refused once its pod is deleted
    const token = (await cluster.kubectl.sh("reader", `cat ${folder}/token`)).trim()
    await ok("delete pod reader --grace-period=1")
    expect(
      (
        await cluster.server.raw("GET", "/api/v1/namespaces/default/configmaps/seen", {
          authorization: `Bearer ${token}`,
        })
      ).status,
    ).toBe(401)
  }, 60_000)

  test("sees the content of every kind of volume, and its changes", async () => {
    await Promise.all([
      cluster.create(ConfigMap, { metadata: { name: "live", namespace: "default" }, data: { a: "1", b: "2" } }),
      cluster.create(Secret, { metadata: { name: "live", namespace: "default" }, stringData: { password: "s3cret" } }),
    ])
    const volumeMounts = [
      { name: "cm", mountPath: "/cm" },
      { name: "cm", mountPath: "/one/file", subPath: "a" },
      { name: "secret", mountPath: "/secret", readOnly: true },
      { name: "all", mountPath: "/all" },
      { name: "disk", mountPath: "/disk" },
      { name: "disk", mountPath: "/part", subPathExpr: "$(POD)" },
      { name: "memory", mountPath: "/memory" },
      { name: "host", mountPath: "/host" },
    ]
    await cluster.runPod(
      "volumes",
      {
        containers: [
          {
            name: "c",
            image: BUSYBOX,
            command: stay(),
            volumeMounts,
            env: [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
          },
          { name: "d", image: BUSYBOX, command: stay(), volumeMounts: [{ name: "disk", mountPath: "/shared" }] },
        ],
        volumes: [
          { name: "cm", configMap: { name: "live", defaultMode: 0o440 } },
          { name: "secret", secret: { secretName: "live" } },
          { name: "disk", emptyDir: {} },
          { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
          { name: "host", hostPath: { path: cluster.server.dataDir, type: "Directory" } },
          {
            name: "all",
            projected: {
              sources: [
                { configMap: { name: "live", items: [{ key: "b", path: "sub/b" }] } },
                { secret: { name: "live" } },
                { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
                { serviceAccountToken: { path: "token", audience: "vault" } },
              ],
            },
          },
        ],
      },
      { labels: { app: "volumes" } },
    )
    const inside = (script: string, container = "c") => cluster.kubectl.sh("volumes", script, container)
    expect(
      await inside(
        "cat /cm/a /cm/b /one/file /secret/password /all/sub/b /all/password; cat /all/labels; ls /all; stat " +
          "-L -c %a /cm/a",
      ),
    ).toBe('1211s3cret2s3cretapp="volumes"labels\npassword\nsub\ntoken\n440\n'.replace("1211", "121"))
    expect(
      await inside(
        "echo hi > /disk/x; echo there > /part/y; ls /disk/volumes; mount | grep -c 'tmpfs on /memory'; ls " +
          "/host/server/token; head -c 2m /dev/zero > /memory/big; [ $(stat -c %s /memory/big) -le 1048576 ] && " +
          "echo small",
      ),
    ).toBe("y\n1\n/host/server/token\nsmall\n")
    expect(await inside("cat /shared/x", "d")).toBe("hi\n")
    expect((await cluster.kubectl.run(["exec", "volumes", "-c", "c", "--", "touch", "/secret/x"])).err).toContain(
      "Read-only file system",
    )
    // when they change, then the pod sees the change, except through a subPath
    await ok(["patch", "configmap", "live", "-p", '{"data":{"a":"new"}}'])
    await ok("label pod volumes app=changed --overwrite")
    expect(
      await inside(
        'i=0; until [ "$(cat /cm/a)" = new ] && grep -q changed /all/labels; do i=$((i+1)); [ $i -gt 100 ] && ' +
          "exit 1; sleep 0.1; done; cat /one/file",
      ),
    ).toBe("1")
  }, 60_000)

  test("is evicted only if its budget allows", async () => {
    await cluster.runPod(
      "evicted",
      { terminationGracePeriodSeconds: 1, containers: [{ name: "c", image: BUSYBOX, command: stay() }] },
      { labels: { app: "evicted" } },
    )
    await ok("create pdb keep --selector=app=evicted --min-available=1")
    await ok("wait --for=jsonpath={.status.expectedPods}=1 pdb/keep --timeout=10s")
    const evict = async () =>
      (
        await cluster.server.send("POST", "/api/v1/namespaces/default/pods/evicted/eviction", {
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata: { name: "evicted" },
        })
      ).status
    expect(await evict()).toBe(429)
    await ok("delete pdb keep")
    expect(await evict()).toBe(201)
    await cluster.gone(Pod, "evicted")
  }, 60_000)

  test("is deleted with its namespace, as everything in it is", async () => {
    await ok("create namespace gone")
    await ok("-n gone create deployment web --image=k3ts.local/web:1 --replicas=2")
    await ok("-n gone expose deployment web --port=80")
    await ok("-n gone create secret generic s --from-literal=a=b")
    await ok("-n gone rollout status deploy/web --timeout=30s")
    await ok("delete namespace gone")
    await cluster.gone(Namespace, "gone")
    expect(await ok("get pods,deploy,rs,svc,secrets,endpointslices -n gone -o name")).toBe("")
  }, 60_000)

  test("is drained from its node, which runs new pods again after uncordon", async () => {
    await ok("create deployment drained --image=k3ts.local/web:1")
    await ok("rollout status deploy/drained --timeout=30s")
    const node = (await ok("get nodes -o jsonpath={.items[0].metadata.name}")).trim()
    await ok(`drain ${node} --ignore-daemonsets --delete-emptydir-data --force --timeout=30s`)
    expect(await ok("get nodes")).toContain("Ready,SchedulingDisabled")
    await ok("wait --for=jsonpath={.status.conditions[0].reason}=Unschedulable pod -l app=drained --timeout=10s")
    expect(await ok("get pods -l app=drained -o jsonpath={.items[0].status.conditions[0].message}")).toBe(
      "0/1 nodes are available: 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/1 nodes are available: 1 " +
        "Preemption is not helpful for scheduling.",
    )
    await ok(`uncordon ${node}`)
    await ok("rollout status deploy/drained --timeout=30s")
  }, 60_000)
})
