/** Everyday commands with the oldest and the newest kubectl that are installed, on a cluster with simulated nodes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startCluster, type Cluster } from "../../components/cluster/testing/cluster.ts"
import { Kubectl, type RunOptions } from "../harness/kubectl.ts"
import { findKubectls } from "../kubectls.ts"

const all = findKubectls()
const ends = [...new Map([all[0], all.at(-1)].flatMap((one) => (one === undefined ? [] : [[one[1], one]]))).values()]
if (ends.length === 0) console.warn("!!! SKIPPED: no kubectl on the PATH: what people type is not tried")

const web = (image: string, more = "") => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { app: web }${more} }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{ name: c, image: "${image}", ports: [{ containerPort: 80 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`

describe.each(ends.map(([version, path]) => [version, path] as const))("kubectl %s", (version, path) => {
  const home = mkdtempSync(join(tmpdir(), "k3ts-clients-"))
  const minor = Number(version.split(".")[1])
  const file = (name: string, text: string): string => {
    writeFileSync(join(home, name), text)
    return join(home, name)
  }
  let cluster: Cluster
  let kubectl: Kubectl
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 2, clock: "real" })
    await cluster.listen()
    kubectl = new Kubectl({ path, kubeconfig: file("config", cluster.kubeconfig), home })
  })
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]()
    rmSync(home, { recursive: true, force: true })
  })
  const ok = (args: string | readonly string[], options?: RunOptions) => kubectl.ok(args, options)
  const fails = async (args: string | readonly string[]): Promise<string> => {
    const { code, err } = await kubectl.run(typeof args === "string" ? args.split(" ") : args)
    expect({ args, failed: code !== 0 }).toEqual({ args, failed: true })
    return err
  }

  test("applies a manifest, waits for it, and prints it in every format", async () => {
    const manifest = file("web.yaml", web("web:1"))
    expect(await ok(["apply", "-f", manifest])).toBe("deployment.apps/web created\nservice/web created\n")
    expect(await ok("rollout status deploy/web --timeout=20s")).toEndWith('deployment "web" successfully rolled out\n')
    expect(await ok("wait --for=condition=Available deploy/web --timeout=10s")).toBe(
      "deployment.apps/web condition met\n",
    )
    expect(await ok("get deploy web")).toMatch(/^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +2\/2 +2 +2 +\d+s\n$/)
    expect(await ok("get deploy web -o wide")).toMatch(/CONTAINERS +IMAGES +SELECTOR\nweb .* c +web:1 +app=web\n$/)
    expect(await ok("get pods -o wide")).toMatch(
      /^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\nweb-\S+ +1\/1 +Running +0 +\d+s +10\.\S+ +node-\d +<none> +<none>\n/,
    )
    expect(await ok("get deploy web -o yaml")).toContain("\nkind: Deployment\n")
    expect(JSON.parse(await ok("get deploy web -o json"))).toMatchObject({ kind: "Deployment", spec: { replicas: 2 } })
    expect(await ok("get pods -o jsonpath={.items[*].spec.nodeName}")).toMatch(/^node-\d node-\d$/)
    expect(await ok("get pods -l app=web -o custom-columns=P:.status.phase --no-headers")).toBe("Running\nRunning\n")
    expect(await ok(["get", "pods", "-o", "go-template={{len .items}}"])).toBe("2")
    expect(await ok("get all -o name")).toMatch(
      /^pod\/web-\S+\npod\/web-\S+\nservice\/kubernetes\nservice\/web\ndeployment.apps\/web\nreplicaset.apps\/web-\S+\n$/,
    )
    expect(await ok("get nodes --sort-by=.metadata.name")).toMatch(
      /^NAME +STATUS +ROLES +AGE +VERSION\nnode-0 +Ready .*\nnode-1 +Ready /,
    )
    expect(await ok("get endpoints web")).toMatch(/\nweb +10\.\S+:80,10\.\S+:80 /)
  }, 60_000)

  test("describes deployments, pods, services, nodes and quotas, with their events", async () => {
    expect(await ok("describe deploy web")).toMatch(
      /Replicas: +2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable[^]*NewReplicaSet: +web-\S+ \(2\/2 replicas created\)[^]*ScalingReplicaSet/,
    )
    expect(await ok("describe pods -l app=web")).toMatch(
      /Status: +Running[^]*Conditions:[^]*Ready +True[^]*Scheduled[^]*Successfully assigned default\/web-/,
    )
    expect(await ok("describe svc web")).toMatch(/Selector: +app=web[^]*Endpoints: +10\./)
    expect(await ok("describe node node-0")).toMatch(
      /Capacity:[^]*Non-terminated Pods: +\(\d+ in total\)[^]*Allocated resources/,
    )
    expect(await ok("get events")).toContain("ScalingReplicaSet")
  }, 60_000)

  test("changes objects by edit, three types of patch, scale, set image, label and annotate", async () => {
    const editor = file("editor", "#!/bin/sh\nsed -i 's/replicas: 2/replicas: 3/' \"$1\"\n")
    chmodSync(editor, 0o755)
    const editing = new Kubectl({ path, kubeconfig: join(home, "config"), home })
    editing.env["EDITOR"] = editor
    expect(await editing.ok("edit deploy web")).toBe("deployment.apps/web edited\n")
    expect(await ok("get deploy web -o jsonpath={.spec.replicas}")).toBe("3")
    expect(
      await ok([
        "patch",
        "deploy",
        "web",
        "-p",
        '{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"1"}]}]}}}}',
      ]),
    ).toBe("deployment.apps/web patched\n")
    expect(await ok(["patch", "deploy", "web", "--type=merge", "-p", '{"spec":{"revisionHistoryLimit":5}}'])).toBe(
      "deployment.apps/web patched\n",
    )
    expect(
      await ok([
        "patch",
        "deploy",
        "web",
        "--type=json",
        "-p",
        '[{"op":"replace","path":"/spec/template/spec/containers/0/env/0/value","value":"2"}]',
      ]),
    ).toBe("deployment.apps/web patched\n")
    expect(
      await ok(
        "get deploy web -o " +
          "jsonpath={.spec.template.spec.containers[0].image}/{.spec.template.spec.containers[0].env[0].value}/{.spec.revisionHistoryLimit}",
      ),
    ).toBe("web:1/2/5")
    expect(await ok("scale deploy web --replicas=1 --current-replicas=3")).toMatch(/deployment.apps\/web scaled\n/)
    expect(await fails("scale deploy web --replicas=4 --current-replicas=3")).toContain(
      "Expected replicas to be 3, was 1",
    )
    expect(await ok("label deploy web tier=front")).toMatch(/deployment.apps\/web labeled\n/)
    expect(await fails("label deploy web tier=back")).toContain("already has a value (front), and --overwrite is false")
    expect(await ok("label deploy web tier-")).toMatch(/deployment.apps\/web (un)?labeled\n/)
    expect(await ok("annotate deploy web note=x")).toMatch(/deployment.apps\/web annotated?\n/)
    expect(await ok("set env deploy/web B=3")).toMatch(/deployment.apps\/web env updated\n/)
    expect(await ok("set resources deploy/web --requests=cpu=10m")).toMatch(
      /deployment.apps\/web resource requirements updated\n/,
    )
    expect(await ok("rollout status deploy/web --timeout=20s")).toContain("successfully rolled out")
  }, 60_000)

  test("rolls out a Deployment, shows its history, pauses, rolls back and restarts it", async () => {
    const image = () => ok("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}")
    expect(await ok("set image deploy/web c=web:2")).toBe("deployment.apps/web image updated\n")
    expect(await ok("rollout status deploy/web --timeout=20s")).toContain("successfully rolled out")
    const history = await ok("rollout history deploy/web")
    expect(history).toMatch(/^deployment.apps\/web ?\nREVISION +CHANGE-CAUSE\n1 /)
    const revisions = history
      .trim()
      .split("\n")
      .slice(2)
      .map((line) => Number(line.split(" ")[0]))
    expect(await ok(`rollout history deploy/web --revision=${revisions.at(-1)}`)).toMatch(/Image:\s+web:2/)
    expect(await ok("rollout undo deploy/web")).toMatch(/^deployment.apps\/web (rolled back|skipped rollback)/)
    expect(await image()).toBe("web:1")
    expect(await ok(`rollout undo deploy/web --to-revision=${revisions.at(-1)}`)).toContain("rolled back")
    expect(await image()).toBe("web:2")
    expect(await ok("rollout pause deploy/web")).toContain("paused")
    expect(await ok("rollout resume deploy/web")).toContain("resumed")
    expect(await ok("rollout restart deploy/web")).toContain("restarted")
    expect(await ok("rollout status deploy/web --timeout=20s")).toContain("successfully rolled out")
  }, 60_000)

  test("shows changes by diff and dry runs without applying them", async () => {
    const changed = file("changed.yaml", web("web:3"))
    const diff = await kubectl.run(["diff", "-f", changed])
    expect(diff.code).toBe(1)
    expect(diff.out).toMatch(/^\+ +- image: web:3$|^\+ +image: web:3$/m)
    expect(await ok(["apply", "--dry-run=server", "-f", changed])).toContain(
      "deployment.apps/web configured (server dry run)\n",
    )
    expect(await ok(["apply", "--dry-run=client", "-f", changed])).toContain("(dry run)\n")
    expect(await ok(["apply", "--server-side", "--force-conflicts", "-f", changed])).toContain(
      "deployment.apps/web serverside-applied\n",
    )
    expect(await ok("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}")).toBe("web:3")
    expect(
      await fails(["apply", "--server-side", "--field-manager=other", "-f", file("other.yaml", web("web:4"))]),
    ).toContain("conflict")
    const replaced = file(
      "replaced.yaml",
      "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: whole }\ndata: { a: b }\n",
    )
    await ok(["create", "-f", replaced])
    expect(await ok(["replace", "-f", replaced])).toBe("configmap/whole replaced\n")
    expect(await ok(["delete", "-f", replaced])).toBe('configmap "whole" deleted\n')
  }, 60_000)

  test("explains, lists kinds, and checks rights", async () => {
    expect(await ok("explain deployment.spec.strategy.rollingUpdate")).toContain("maxSurge")
    expect(await ok("explain pod --recursive")).toContain("terminationGracePeriodSeconds")
    expect(await ok("api-resources --namespaced=true --verbs=list -o name")).toContain("deployments.apps\n")
    expect(await ok("api-resources --api-group=apps --no-headers")).toMatch(
      /deployments +deploy +apps\/v1 +true +Deployment/,
    )
    expect(await ok("api-versions")).toMatch(/^apps\/v1\n[^]*^v1\n/m)
    expect(await ok("auth can-i delete nodes")).toBe("yes\n")
    expect((await kubectl.run(["auth", "can-i", "list", "secrets", "--as", "jane"])).out).toContain("no")
    expect(await ok("auth can-i --list --as system:serviceaccount:default:default")).toContain(
      "selfsubjectaccessreviews.authorization.k8s.io",
    )
    expect(await fails("get pods --as jane")).toBe(
      'Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" in API group ' +
        '"" in the namespace "default"\n',
    )
    expect(await ok("get pods --as jane --as-group system:masters -o name")).toContain("pod/web-")
    expect(await ok("cluster-info")).toContain("is running at")
    expect(await ok("get --raw /readyz")).toBe("ok")
    expect(
      (await ok("get componentstatuses --no-headers"))
        .split("\n")
        .map((line) => line.split(/\s+/).slice(0, 3).join(" ")),
    ).toEqual(["controller-manager Healthy ok", "etcd-0 Healthy ok", "scheduler Healthy ok", ""])
  }, 60_000)

  test.each(
    [
      ["deployment made --image=a:1", "deployment.apps/made"],
      ["service clusterip made --tcp=80:8080", "service/made"],
      ["service nodeport made-np --tcp=80", "service/made-np"],
      ["service externalname made-ext --external-name=example.com", "service/made-ext"],
      ["service loadbalancer made-lb --tcp=80", "service/made-lb"],
      ["job made --image=a:1 -- true", "job.batch/made"],
      ["cronjob made --image=a:1 --schedule=@hourly -- true", "cronjob.batch/made"],
      ["job from-cron --from=cronjob/made", "job.batch/from-cron"],
      ["configmap made --from-literal=a=b", "configmap/made"],
      ["secret generic made --from-literal=a=b", "secret/made"],
      ["secret docker-registry made-reg --docker-username=a --docker-password=b", "secret/made-reg"],
      ["role made --verb=get,list --resource=pods", "role.rbac.authorization.k8s.io/made"],
      ["rolebinding made --role=made --serviceaccount=default:default", "rolebinding.rbac.authorization.k8s.io/made"],
      ["clusterrole made --verb=get --resource=nodes", "clusterrole.rbac.authorization.k8s.io/made"],
      ["clusterrolebinding made --clusterrole=made --user=jane", "clusterrolebinding.rbac.authorization.k8s.io/made"],
      ["quota made --hard=configmaps=10", "resourcequota/made"],
      ["ingress made --rule=example.com/*=web:80", "ingress.networking.k8s.io/made"],
      ["poddisruptionbudget made --selector=app=web --min-available=1", "poddisruptionbudget.policy/made"],
      ["priorityclass made --value=10 --description=x", "priorityclass.scheduling.k8s.io/made"],
      ["serviceaccount made", "serviceaccount/made"],
      ["namespace made", "namespace/made"],
      // Older ones make some kinds in versions of their groups that are no longer served.
    ].filter(([args = ""]) => minor >= 21 || !/^(cronjob|poddisruptionbudget|job from-cron)/.test(args)) as [
      string,
      string,
    ][],
  )(
    "creates with `create %s`",
    async (args, name) => {
      expect(await ok(`create ${args}`)).toBe(`${name} created\n`)
      expect(await ok(["get", name, "-o", "name"])).toBe(`${name}\n`)
      expect(await fails(`create ${args}`)).toContain("already exists")
    },
    30_000,
  )

  test("runs a pod, exposes it, and creates tokens", async () => {
    expect(await ok("run alone --image=a:1 --port=80 --labels=app=alone")).toBe("pod/alone created\n")
    expect(await ok("wait --for=condition=Ready pod/alone --timeout=20s")).toBe("pod/alone condition met\n")
    expect(await ok("expose pod alone --port=80 --name=alone")).toBe("service/alone exposed\n")
    expect(await ok("expose deploy web --port=8080 --name=web-2")).toBe("service/web-2 exposed\n")
    if (minor >= 24) expect(await ok("create token made")).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\s*$/)
  }, 60_000)

  test("cordons, taints and drains a node", async () => {
    expect(await ok("cordon node-0")).toBe("node/node-0 cordoned\n")
    expect(await ok("get node node-0")).toContain("SchedulingDisabled")
    expect(await ok("uncordon node-0")).toBe("node/node-0 uncordoned\n")
    expect(await ok("taint node node-0 a=b:NoSchedule")).toBe("node/node-0 tainted\n")
    expect(await ok("taint node node-0 a-")).toBe("node/node-0 untainted\n")
    await ok("delete pdb made --ignore-not-found")
    expect(await ok("drain node-0 --ignore-daemonsets --force --timeout=30s")).toMatch(
      /node\/node-0 (drained|evicted)\n$/,
    )
    expect(await ok("get pods --field-selector spec.nodeName=node-0 -o name")).toBe("")
    await ok("uncordon node-0")
  }, 60_000)

  test("watches objects, and waits for their deletion", async () => {
    const child = spawn(path, ["get", "pods", "-w", "--output-watch-events", "-l", "app=watched"], {
      env: kubectl.env,
      stdio: ["ignore", "pipe", "pipe"],
    })
    let text = ""
    const seen = Promise.withResolvers<void>()
    child.stdout.on("data", (bytes: Buffer) => {
      text += bytes.toString()
      if (/^DELETED .*\n/m.test(text)) seen.resolve()
    })
    await ok("run watched --image=a:1 --labels=app=watched")
    await ok("wait --for=condition=Ready pod/watched --timeout=20s")
    expect(await ok("delete pod watched --grace-period=1")).toContain('pod "watched" deleted')
    await seen.promise
    child.kill()
    expect(text).toMatch(/^(ADDED|MODIFIED) +watched +1\/1 +Running/m)
    await ok("delete deploy web --wait=false")
    await kubectl.gone("pod", "app=web")
    expect(await ok("get pods -l app=web -o name")).toBe("")
    expect(await ok("delete ns made --timeout=20s")).toBe('namespace "made" deleted\n')
  }, 60_000)
})
