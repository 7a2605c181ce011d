/**
 * Tests with the real containerd. They need root, containerd, runc, CNI plugins and busybox-static. Each run has its
 * own folders, bridge and address range, so several runs and a k3ts can share a machine.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { realClock } from "../../pkg/clock/real.ts"
import type { ContainerEvent } from "../../pkg/cri/container-event.ts"
import type { ContainerConfig } from "../../pkg/cri/container.ts"
import { CriError } from "../../pkg/cri/errors.ts"
import type { PodSandboxConfig } from "../../pkg/cri/sandbox.ts"
import { silent } from "../../pkg/log/log.ts"
import { buildImageArchive } from "../../pkg/oci/archive.ts"
import { writeCniConfig } from "./network/cni.ts"
import { installPlugins } from "./network/plugin/install-plugins.ts"
import { Containerd } from "./containerd.ts"
import { EXAMPLE_IMAGES, withExampleImages } from "./images/example-images.ts"
import { findCniBinDir } from "./host.ts"
import { importImages } from "./images/images.ts"
import { busybox, missingHere } from "./needs.fixtures.ts"
import { presentImage } from "../../pkg/cri/arriving-image.ts"
import { PAUSE_IMAGE } from "./images/pause-image.ts"
import { containerdPaths } from "./paths.ts"
import { commandLine } from "../../pkg/process/orphan.ts"
import { launchContainerd } from "./process.ts"
import { tearDown } from "./tear-down.ts"

const missing = missingHere()
if (missing.length > 0) console.warn(`SKIPPED: the tests of the kubelet's containerd need ${missing.join(", ")}`)

const IMAGE = "k3ts.local/containerd-test:1"
const LAID_DOWN = "k3ts.local/laid-down:1"

describe.skipIf(missing.length > 0)("Containerd", () => {
  const folder = `/tmp/k3ts-ctrd-${process.pid}` // short, for the sockets in it
  const paths = containerdPaths(join(folder, "data"), join(folder, "run"))
  const unique = process.pid % 200
  const bridge = `k3ts-t${unique}`
  const containerd = new Containerd({ paths, clock: realClock, log: silent, cgroupDriver: "cgroupfs" })
  const { runtime, images } = containerd.cri
  const cgroupParent = `/k3ts-test-${process.pid}`

  beforeAll(async () => {
    mkdirSync(paths.cniConfig, { recursive: true })
    mkdirSync(paths.images, { recursive: true })
    installPlugins(paths, findCniBinDir())
    writeCniConfig(paths, { podCidrs: [`10.199.${unique}.0/24`], mtu: 1400, bridge })
    writeFileSync(join(paths.images, "broken.tar"), "no archive")
    writeFileSync(
      join(paths.images, "good.tar"),
      buildImageArchive({
        name: LAID_DOWN,
        layers: [{ files: [{ type: "file", path: "a", data: Buffer.from("a") }] }],
        config: {},
      }),
    )
    await containerd.start(AbortSignal.timeout(30_000))
    // Ready while archives are still coming in.
    expect(containerd.moreImages()).toBeDefined()
    expect((await presentImage({ images, moreImages: () => containerd.moreImages() }, LAID_DOWN))?.repoTags).toEqual([
      LAID_DOWN,
    ])
    const archive = buildImageArchive({
      name: IMAGE,
      layers: [
        {
          files: [
            { type: "directory", path: "bin" },
            { type: "directory", path: "tmp", mode: 0o1777 },
            { type: "file", path: "bin/busybox", mode: 0o755, data: readFileSync(busybox!) },
            ...["sh", "sleep", "echo", "ip", "ping", "cat", "nc", "true", "false"].map((name) => ({
              type: "symlink" as const,
              path: `bin/${name}`,
              target: "busybox",
            })),
          ],
        },
      ],
      config: { Env: ["PATH=/bin"], Cmd: ["sh"] },
    })
    expect(await importImages([archive], paths)).toEqual([IMAGE])
  }, 60_000)

  afterAll(async () => {
    for (const { id } of await runtime.listPodSandboxes()) {
      await runtime.stopPodSandbox(id)
      await runtime.removePodSandbox(id)
    }
    await containerd.stop()
    containerd.cri.close()
    await tearDown(paths, realClock, { bridge, egress: false })
    removeCgroups(cgroupParent)
    rmSync(folder, { recursive: true, force: true })
    // Nothing may be left on the host.
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(folder)
    expect(existsSync(`/sys/class/net/${bridge}`)).toBe(false)
  }, 60_000)

  test("imports the example images from the executable once, for all pods that pull them", async () => {
    // given an executable with an archive
    let reads = 0
    const [web = ""] = EXAMPLE_IMAGES
    const archive = buildImageArchive({ name: web, layers: [{ files: [] }], config: {} })
    const service = withExampleImages(images, paths, realClock, async () => {
      reads++
      return archive
    })
    // when two pods pull one of its images at once
    const pulled = await Promise.all([service.pullImage({ image: web }), service.pullImage({ image: web })])
    // then the image exists, and was imported once
    expect(pulled).toEqual([web, web])
    expect((await service.imageStatus(web))?.repoTags).toEqual([web])
    expect(reads).toBe(1)
    await images.removeImage(web)
  })

  let pods = 0
  const sandbox = (name: string): PodSandboxConfig => ({
    metadata: { name, uid: `${name}-${process.pid}-${pods++}`, namespace: "default", attempt: 0 },
    hostname: name,
    logDirectory: join(folder, "logs", name),
    labels: { pod: name },
    linux: { cgroupParent, securityContext: { namespaceOptions: { network: "POD", pid: "CONTAINER", ipc: "POD" } } },
  })
  const container = (name: string, script: string): ContainerConfig => ({
    metadata: { name, attempt: 0 },
    image: { image: IMAGE },
    command: ["sh", "-c", script],
    envs: [{ key: "GREETING", value: "hëllo" }],
    labels: { container: name },
    logPath: `${name}.log`,
    linux: {
      resources: { cpuShares: 100, memoryLimitInBytes: 64 * 1024 * 1024 },
      securityContext: { maskedPaths: ["/proc/kcore"] },
    },
  })
  const runPod = async (name: string, script: string) => {
    const config = sandbox(name)
    mkdirSync(config.logDirectory!, { recursive: true })
    const sandboxId = await runtime.runPodSandbox(config)
    const containerId = await runtime.createContainer(sandboxId, container("main", script), config)
    await runtime.startContainer(containerId)
    return { sandboxId, containerId }
  }

  test(
    "is ready, has the pause image, the pod network and the images of the image folder, and skips a file that is " +
      "no archive",
    async () => {
      // given a started containerd
      expect(containerd.state).toBe("ready")
      expect(containerd.problem()).toBeUndefined()
      // then both conditions are true and the images exist
      const { status } = await runtime.status()
      expect(status?.conditions.map(({ type, status }) => [type, status])).toEqual([
        ["RuntimeReady", true],
        ["NetworkReady", true],
      ])
      expect((await images.imageStatus(PAUSE_IMAGE))?.repoTags).toEqual([PAUSE_IMAGE])
      expect((await images.listImages()).flatMap((image) => image.repoTags).sort()).toEqual(
        [IMAGE, PAUSE_IMAGE, LAID_DOWN].sort(),
      )
      expect((await images.imageFsInfo()).imageFilesystems[0]!.fsId!.mountpoint).toStartWith(paths.root)
    },
  )

  test("runs a pod with an address, executes commands in it, writes its log and reports its end", async () => {
    // given a subscription
    const listening = new AbortController()
    const events = runtime.subscribeContainerEvents(listening.signal)[Symbol.asyncIterator]()
    const next = async (wanted: (event: ContainerEvent) => boolean) => {
      for (;;) {
        const { value } = await events.next()
        if (value === undefined || wanted(value)) return value
      }
    }
    expect(await next(() => true)).toEqual({ type: "Relist" })

    // when a pod runs
    const { sandboxId, containerId } = await runPod(
      "web",
      'echo "$GREETING"; echo oops >&2; cat /tmp/go 2>/dev/null; until [ -e /tmp/go ]; do sleep 0.05; done; exit 7',
    )
    const status = await runtime.podSandboxStatus(sandboxId)
    expect(status?.state).toBe("SANDBOX_READY")
    expect(status?.network?.ip).toStartWith(`10.199.${unique}.`)
    expect((await runtime.containerStatus(containerId))?.state).toBe("CONTAINER_RUNNING")
    expect((await runtime.listContainers({ podSandboxId: sandboxId })).map(({ id }) => id)).toEqual([containerId])
    expect(
      (await runtime.listPodSandboxes({ labelSelector: { pod: "web" }, state: { state: "SANDBOX_READY" } })).map(
        ({ id }) => id,
      ),
    ).toEqual([sandboxId])
    expect((await runtime.containerStats(containerId))?.memory?.workingSetBytes?.value).toBeGreaterThan(0)
    expect(
      (await runtime.execSync(containerId, ["ping", "-c", "1", "-W", "5", `10.199.${unique}.1`], 10)).exitCode,
    ).toBe(0)
    expect(await runtime.exec({ containerId, cmd: ["sh"], stdout: true })).toStartWith("http://127.0.0.1:")
    await runtime.updateContainerResources(containerId, { cpuShares: 200 })
    await runtime.reopenContainerLog(containerId)

    // and a command inside makes it end
    const echoed = await runtime.execSync(containerId, ["sh", "-c", "echo out; echo err >&2; exit 3"], 5)
    expect([new TextDecoder().decode(echoed.stdout), new TextDecoder().decode(echoed.stderr), echoed.exitCode]).toEqual(
      ["out\n", "err\n", 3],
    )
    await runtime.execSync(containerId, ["sh", "-c", "echo > /tmp/go"], 5)

    // then its end is reported once the status shows it, and the ends of the executed commands are not
    expect(await next((event) => event.type === "Stopped")).toEqual({ type: "Stopped", containerId })
    const ended = await runtime.containerStatus(containerId)
    expect([ended?.state, ended?.exitCode, ended?.reason]).toEqual(["CONTAINER_EXITED", 7, "Error"])
    const log = readFileSync(join(folder, "logs/web/main.log"), "utf8")
    expect(log).toMatch(/stdout F hëllo\n/)
    expect(log).toMatch(/stderr F oops\n/)

    // when the pod is removed
    await runtime.stopPodSandbox(sandboxId)
    expect(await next((event) => event.type === "Stopped")).toEqual({ type: "Stopped", containerId: sandboxId })
    await runtime.removePodSandbox(sandboxId)
    // then nothing is left, and reading or removing it again is no error
    expect(await runtime.podSandboxStatus(sandboxId)).toBeUndefined()
    expect(await runtime.containerStatus(containerId)).toBeUndefined()
    await runtime.removePodSandbox(sandboxId)
    await runtime.removeContainer(containerId)
    // and the subscription ends when it is cancelled, after the events under way
    listening.abort()
    expect(await next(() => false)).toBeUndefined()
  }, 60_000)

  test("reports the fault of a call", async () => {
    const code = (call: Promise<unknown>) =>
      call.then(
        () => "OK",
        (err: unknown) => (err instanceof CriError ? `${err.method} ${err.code}` : String(err)),
      )
    expect(await code(runtime.startContainer("none"))).toBe("StartContainer NotFound")
    expect(await code(runtime.runPodSandbox({}))).toStartWith("RunPodSandbox ")
    expect(await code(runtime.version({ timeoutMs: 0 }))).toBe("Version DeadlineExceeded")
    expect(await code(runtime.version({ signal: AbortSignal.abort() }))).toBe("Version Cancelled")
    expect(await code(images.pullImage({ image: "127.0.0.1:1/none:1" }))).toStartWith("PullImage ")
  })

  test("starts containerd again when it is killed, while the containers keep running", async () => {
    // given a running pod and a subscription
    const { sandboxId, containerId } = await runPod("survivor", "sleep 1000")
    const listening = new AbortController()
    const seen: string[] = []
    const relists: (() => void)[] = []
    const listen = (async () => {
      for await (const event of runtime.subscribeContainerEvents(listening.signal)) {
        seen.push(event.type)
        if (event.type === "Relist") relists.shift()?.()
      }
    })()
    await new Promise<void>((resolve) => relists.push(resolve))
    const states: string[] = []
    const ready = new Promise<void>((resolve) => {
      const off = containerd.onState((state) => {
        states.push(state)
        if (state === "ready") resolve(off() as unknown as undefined)
      })
    })
    const subscribedAgain = new Promise<void>((resolve) => relists.push(resolve))

    // when the daemon is killed
    process.kill(daemonPid(), "SIGKILL")
    await ready

    // then the daemon and the subscription are back, and the container never stopped
    expect(states).toEqual(["down", "ready"])
    await subscribedAgain
    expect((await runtime.containerStatus(containerId))?.state).toBe("CONTAINER_RUNNING")
    expect((await runtime.execSync(containerId, ["true"], 5)).exitCode).toBe(0)
    expect(seen).not.toContain("Stopped")
    listening.abort()
    await listen
    await runtime.stopContainer(containerId, 0)
    expect((await runtime.containerStatus(containerId))?.exitCode).toBe(137)
    await runtime.stopPodSandbox(sandboxId)
    await runtime.removePodSandbox(sandboxId)
  }, 60_000)

  test("leaves containers running when it stops and finds them again, even after k3ts was killed", async () => {
    // given a running pod
    const { sandboxId, containerId } = await runPod("adopted", "sleep 1000")
    const started = (await runtime.containerStatus(containerId))!.startedAt
    // when k3ts stops and starts
    await containerd.stop()
    await expect(runtime.version()).rejects.toThrow(CriError)
    expect(containerd.problem()).toBe("containerd is stopped")
    await containerd.start(AbortSignal.timeout(20_000))
    // then the container is the same
    expect(await runtime.containerStatus(containerId)).toMatchObject({ state: "CONTAINER_RUNNING", startedAt: started })

    // and when it finds the daemon of a killed k3ts
    await containerd.stop()
    const orphan = launchContainerd(paths)
    const serves = () =>
      runtime.version().then(
        () => true,
        () => false,
      )
    while (!(await serves())) await new Promise((resolve) => setImmediate(resolve))
    await containerd.start(AbortSignal.timeout(20_000))
    // then that daemon has ended, and the container is still the same
    expect(await orphan.exited).toBe("containerd exited with code 0")
    expect(await runtime.containerStatus(containerId)).toMatchObject({ state: "CONTAINER_RUNNING", startedAt: started })
    await runtime.stopPodSandbox(sandboxId)
    await runtime.removePodSandbox(sandboxId)
  }, 60_000)

  test("reports at once why containerd does not start, and leaves no process behind", async () => {
    // given a data directory that containerd cannot use
    const broken = containerdPaths(join(folder, "broken"), join(folder, "broken-run"))
    mkdirSync(broken.root, { recursive: true })
    writeFileSync(join(broken.root, "io.containerd.metadata.v1.bolt"), "a file where a folder should be")
    const other = new Containerd({ paths: broken, clock: realClock, log: silent, cgroupDriver: "cgroupfs" })
    // then the error has containerd's own message
    await expect(other.start(AbortSignal.timeout(20_000))).rejects.toThrow(/without its CRI plugin: .*not a directory/)
    expect(other.state).toBe("stopped")
    // and a start that is aborted ends with the reason of the abort
    rmSync(join(broken.root, "io.containerd.metadata.v1.bolt"))
    await expect(other.start(AbortSignal.abort(new Error("changed my mind")))).rejects.toThrow("changed my mind")
    expect(readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(broken.config))).toEqual(
      [],
    )
    other.cri.close()
  }, 60_000)

  test("removes pods and everything of them on the host when it is removed", async () => {
    // given a running pod with a host port, and no daemon
    const config = {
      ...sandbox("left"),
      portMappings: [{ containerPort: 80, hostPort: 18_000 + unique, hostIp: "127.0.0.1" }],
    }
    const sandboxId = await runtime.runPodSandbox(config)
    const shims = () =>
      readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(paths.socket))
    const rules = () => spawnSync("iptables-save", ["-t", "nat"], { encoding: "utf8" }).stdout
    expect(rules()).toContain(sandboxId)
    await containerd.stop()
    expect(shims()).toHaveLength(1)

    // when everything is removed
    await tearDown(paths, realClock, { bridge, egress: false })

    // then no process, mount, interface, rule or file is left
    expect(shims()).toEqual([])
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(folder)
    expect(existsSync(`/sys/class/net/${bridge}`)).toBe(false)
    expect(rules()).not.toContain(sandboxId)
    expect(
      existsSync("/var/lib/cni/results")
        ? readdirSync("/var/lib/cni/results").filter((name) => name.includes(sandboxId))
        : [],
    ).toEqual([])
    expect(existsSync(paths.state)).toBe(false)

    // and containerd can be started again: it still lists the pod, as ended
    await containerd.start(AbortSignal.timeout(20_000))
    expect((await runtime.podSandboxStatus(sandboxId))?.state).toBe("SANDBOX_NOTREADY")
    await runtime.stopPodSandbox(sandboxId)
    await runtime.removePodSandbox(sandboxId)
  }, 60_000)

  const daemonPid = () =>
    Number(
      readdirSync("/proc").find(
        (pid) => /^\d+$/.test(pid) && commandLine(pid).join(" ") === `containerd --config ${paths.config}`,
      ),
    )
})

function removeCgroups(parent: string): void {
  for (const controller of readdirSync("/sys/fs/cgroup")) {
    const folder = join("/sys/fs/cgroup", controller, parent)
    if (existsSync(folder)) spawnSync("find", [folder, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"])
  }
  const unified = join("/sys/fs/cgroup", parent)
  if (existsSync(unified)) spawnSync("find", [unified, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"])
}
