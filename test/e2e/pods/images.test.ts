/** Images: pulls from a registry on this machine, imports of archives, and all ways in which a pull fails. */
import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EXAMPLE_IMAGES } from "../../../components/containerd/images/example-images.ts"
import { webImage } from "../../../hack/images/images.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { buildImageArchive } from "../../../pkg/oci/archive.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { hasRegistry, push, startRegistry, type Login } from "../../harness/registry.ts"
import { EXECUTABLE } from "../../harness/server.ts"

describeOnNode("images", () => {
  const folder = mkdtempSync(join(tmpdir(), "k3ts-images-"))
  let cluster: Cluster
  let mirrorPort: number
  beforeAll(async () => {
    mirrorPort = await freePort()
    const registries = join(folder, "registries.yaml")
    writeFileSync(registries, registriesYaml(`127.0.0.1:${mirrorPort}`))
    cluster = await startCluster({ flags: ["--private-registry", registries] })
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  const images = (...args: string[]) => run(EXECUTABLE, ["images", ...args, "--data-dir", cluster.server.dataDir])
  const waiting = (name: string, reason: string) =>
    cluster.pod(name, ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === reason)
  const container = (image: string, more: object = {}) => ({ name: "c", image, command: stay(), ...more })
  const events = async (name: string) =>
    (
      await cluster.client.list(Event, { namespace: "default", fieldSelector: `involvedObject.name=${name}` })
    ).items.map(({ reason, message }) => `${reason}: ${message}`)

  test("that cannot be pulled are reported with the reason and pulled again after longer and longer waits", async () => {
    const port = await freePort() // nobody listens there
    await Promise.all([
      cluster.createPod("no-registry", { containers: [container(`127.0.0.1:${port}/nothing:1`)] }),
      cluster.createPod("never", { containers: [container("k3ts.local/absent:1", { imagePullPolicy: "Never" })] }),
      cluster.createPod("no-name", { containers: [container("k3ts.local/UPPER:1")] }),
    ])
    const failed = await waiting("no-registry", "ErrImagePull")
    expect(failed.status.containerStatuses![0]!.state.waiting!.message).toContain("connection refused")
    await waiting("no-registry", "ImagePullBackOff")
    expect((await events("no-registry")).join("\n")).toMatch(
      /Pulling: Pulling image "127\.0\.0\.1[\s\S]*Failed: Failed to pull image[\s\S]*BackOff: Back-off pulling image/,
    )
    expect(
      (await waiting("never", "ErrImageNeverPull")).status.containerStatuses![0]!.state.waiting!.message,
    ).toContain('Container image "k3ts.local/absent:1" is not present with pull policy of Never')
    await waiting("no-name", "InvalidImageName")
  }, 60_000)

  test("are imported, listed, used and removed by the command line", async () => {
    const archive = join(folder, "mine.tar")
    writeFileSync(archive, buildImageArchive(webImage("7", "k3ts.local/mine:7")))
    expect(await images("import", archive)).toEqual({ code: 0, out: "k3ts.local/mine:7\n", err: "" })
    expect((await images("list")).out).toMatch(/^IMAGE +ID +SIZE\n[\s\S]*k3ts\.local\/mine:7 +[0-9a-f]{12} /)
    await cluster.runPod("mine", {
      terminationGracePeriodSeconds: 1,
      containers: [container("k3ts.local/mine:7", { imagePullPolicy: "Never" })],
    })
    await cluster.client.delete(Pod, { name: "mine", namespace: "default" })
    await cluster.gone(Pod, "mine")
    expect(await images("remove", "k3ts.local/mine:7")).toMatchObject({ code: 0 })
    expect((await images("list")).out).not.toContain("mine")
    expect(await images("remove", "k3ts.local/mine:7")).toMatchObject({
      code: 1,
      err: "k3ts: there is no image k3ts.local/mine:7\n",
    })
    expect((await images("import", join(folder, "nothing.tar"))).err).toContain("There is no file")
  })

  test.skipIf(!hasRegistry)(
    "are pulled from a registry, by policy, and with the credentials of a Secret",
    async () => {
      // given two registries on this machine, one of which requires a password
      await using open = await startRegistry({ folder: join(folder, "open") })
      await using closed = await startRegistry({ folder: join(folder, "closed"), login: LOGIN })
      for (const { port } of [open, closed]) allowPlainHttp(cluster.server.dataDir, port)
      await push(`127.0.0.1:${open.port}`, "team/app", "1")
      await push(`127.0.0.1:${closed.port}`, "team/app", "1", LOGIN)
      // when pods need images of both, then these are pulled
      const pulled = await cluster.runPod("pulled", { containers: [container(`127.0.0.1:${open.port}/team/app:1`)] })
      expect(pulled.status.containerStatuses![0]!.imageID).toMatch(
        new RegExp(`^127\\.0\\.0\\.1:${open.port}/team/app@sha256:`),
      )
      expect((await events("pulled")).join("\n")).toMatch(/Pulled: Successfully pulled image "127/)
      await cluster.runPod("present", {
        containers: [container(`127.0.0.1:${open.port}/team/app:1`, { imagePullPolicy: "IfNotPresent" })],
      })
      expect((await events("present")).join("\n")).toContain("already present on machine")
      await cluster.createPod("no-tag", { containers: [container(`127.0.0.1:${open.port}/team/app:none`)] })
      expect((await waiting("no-tag", "ErrImagePull")).status.containerStatuses![0]!.state.waiting!.message).toContain(
        "not found",
      )
      // and only pods with the right credentials get the image of the protected one
      const auths = { auths: { [`127.0.0.1:${closed.port}`]: { username: "jane", password: "s3cret" } } }
      await cluster.create(Secret, {
        metadata: { name: "pull", namespace: "default" },
        type: "kubernetes.io/dockerconfigjson",
        stringData: { ".dockerconfigjson": JSON.stringify(auths) },
      })
      const image = `127.0.0.1:${closed.port}/team/app:1`
      await Promise.all([
        cluster.createPod("outsider", { containers: [container(image, { imagePullPolicy: "Always" })] }),
        cluster.runPod("insider", {
          imagePullSecrets: [{ name: "pull" }],
          containers: [container(image, { imagePullPolicy: "Always" })],
        }),
      ])
      await waiting("outsider", "ImagePullBackOff")
      expect((await events("outsider")).join("\n")).toMatch(
        /Failed to pull image .*(401|unauthorized|authorization|no basic auth)/i,
      )
    },
    60_000,
  )

  test.skipIf(!hasRegistry)(
    "are pulled from a mirror that registries.yaml names, under another name and with its credentials",
    async () => {
      // given a mirror that requires a password and has the image under another name
      await using mirror = await startRegistry({ folder: join(folder, "mirror"), login: LOGIN, port: mirrorPort })
      await push(`127.0.0.1:${mirror.port}`, "copies/team-app", "1", LOGIN)

      // when a pod names the image as the original registry does, then it runs, and its status shows that name
      const image = "registry.example.org/team/app:1"
      const pulled = await cluster.runPod("mirrored", { containers: [container(image)] })
      expect(pulled.status.containerStatuses![0]!.image).toBe(image)
    },
    60_000,
  )

  test("of the examples come from the executable: when one is pulled, and as an archive for other runtimes", async () => {
    // given a node that has none of them
    const names = async () =>
      (JSON.parse((await images("list", "--output", "json")).out) as { names: string[] }[]).flatMap(
        ({ names }) => names,
      )
    expect(await names()).not.toContain(BUSYBOX)
    // when a pod needs one, with any imagePullPolicy
    await cluster.runPod("example", {
      terminationGracePeriodSeconds: 1,
      containers: [container(BUSYBOX, { imagePullPolicy: "Always" })],
    })
    // then all of them are on the node
    expect(await names()).toEqual(expect.arrayContaining([...EXAMPLE_IMAGES]))
    expect((await events("example")).join("\n")).toContain(`Pulled: Successfully pulled image "${BUSYBOX}"`)
    // and the archive can be written to a file
    const archive = join(folder, "examples.tar")
    expect(await run(EXECUTABLE, ["images", "export", archive])).toMatchObject({ code: 0, err: "" })
    expect((await images("import", archive)).out.trim().split("\n").sort()).toEqual([...EXAMPLE_IMAGES])
  }, 60_000)
})

const LOGIN: Login = { user: "jane", password: "s3cret" }

/** The settings of a mirror that requires a password and has repositories under other names. */
const registriesYaml = (mirror: string): string =>
  `mirrors:
  registry.example.org:
    endpoint: ["http://${mirror}"]
    rewrite: {"^team/(.*)": "copies/team-$1"}
configs:
  ${mirror}: {auth: {username: ${LOGIN.user}, password: ${LOGIN.password}}}
`

function allowPlainHttp(dataDir: string, port: number): void {
  const folder = join(dataDir, "agent/etc/containerd/certs.d", `127.0.0.1:${port}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "hosts.toml"), `server = "http://127.0.0.1:${port}"\n`)
}
