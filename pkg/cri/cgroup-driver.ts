/** Who makes the cgroups of pods: the runtime itself, or systemd on its behalf. */
export type CgroupDriver = "cgroupfs" | "systemd"

/** The part of containerd's configuration that is read. Source: containerd internal/cri/config/config.go. */
interface ContainerdConfig {
  readonly containerd?: {
    readonly defaultRuntimeName?: string
    readonly runtimes?: Readonly<Record<string, { readonly options?: { readonly SystemdCgroup?: boolean } | null }>>
  }
}

/**
 * Returns the driver of containerd's default runtime.
 * @param json containerd's configuration, as its verbose status has it; undefined, or any other text, for none
 */
export function configuredCgroupDriver(json: string | undefined): CgroupDriver | undefined {
  let config: ContainerdConfig | null
  try {
    config = JSON.parse(json ?? "null") as ContainerdConfig | null
  } catch {
    return undefined
  }
  const { defaultRuntimeName = "runc", runtimes } = config?.containerd ?? {}
  const runtime = runtimes?.[defaultRuntimeName]
  return runtime === undefined ? undefined : runtime.options?.SystemdCgroup === true ? "systemd" : "cgroupfs"
}
