import { connectCri } from "../../../pkg/cri/client.ts"
import { realClock } from "../../../pkg/clock/real.ts"

export interface RawPods {
  /** Seconds from the first call until this many pods run. */
  readonly three: number
  readonly twentySeven: number
  /** Seconds to stop and remove thirty. */
  readonly removeThirty: number
}

/** Pods that are worked on at once; more does not help two cores. */
const AT_ONCE = 4
const SOCKET = "unix:///run/k3ts/containerd/containerd.sock"

/** The same pods as the benchmark's, made by nothing but CRI calls on the server's own containerd. */
export async function rawPods(): Promise<RawPods> {
  const cri = connectCri(SOCKET, realClock)
  const sandboxes: string[] = []
  const start = async (name: string): Promise<void> => {
    const config = {
      metadata: { name, uid: name, namespace: "raw", attempt: 0 },
      hostname: name,
      logDirectory: "/tmp",
      linux: {},
    }
    const podSandboxId = await cri.runtime.runPodSandbox(config)
    sandboxes.push(podSandboxId)
    const containerId = await cri.runtime.createContainer(
      podSandboxId,
      {
        metadata: { name: "web", attempt: 0 },
        image: { image: "k3ts.local/web:1" },
        logPath: `${name}.log`,
        linux: {},
      },
      config,
    )
    await cri.runtime.startContainer(containerId)
  }
  try {
    return {
      three: await timed(3, (i) => start(`a${i}`)),
      twentySeven: await timed(27, (i) => start(`b${i}`)),
      removeThirty: await timed(30, async (i) => {
        await cri.runtime.stopPodSandbox(sandboxes[i]!)
        await cri.runtime.removePodSandbox(sandboxes[i]!)
      }),
    }
  } finally {
    cri.close()
  }
}

async function timed(count: number, work: (i: number) => Promise<void>): Promise<number> {
  const begin = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: Math.min(AT_ONCE, count) }, async () => {
      while (next < count) await work(next++)
    }),
  )
  return (performance.now() - begin) / 1000
}
