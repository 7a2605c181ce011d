import { join } from "node:path"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { procedure } from "../../../pkg/grpc/rpc.ts"
import type { PodFiles, PluginSockets, ServedSocket } from "../runtime/runtime.ts"
import { Register, type RegisterRequest } from "./device-plugin-service.ts"

/** Where device plugins look for the kubelet's socket. Source: k8s.io/kubelet deviceplugin/v1beta1/constants.go. */
export const DEVICE_PLUGINS_FOLDER = "/var/lib/kubelet/device-plugins"

/** The name of the kubelet's socket. */
export const DEVICE_PLUGINS_SOCKET = "kubelet.sock"

export interface PluginSocketOptions extends Pick<ComponentContext, "log"> {
  readonly sockets: PluginSockets
  readonly files: PodFiles
  readonly folder: string
  readonly answer: (request: RegisterRequest) => Promise<object>
}

/**
 * Opens the socket at which device plugins register. All sockets that are in the folder are removed before: plugins see
 * by that that the kubelet is another one, and register again. Where another kubelet of this machine answers at the
 * socket, that is logged, and there are no device plugins here. Source: plugin/v1beta1/server.go Start, manager.go
 * CleanupPluginDirectory.
 */
export async function openPluginSocket(options: PluginSocketOptions): Promise<ServedSocket | undefined> {
  const { sockets, files, folder, answer, log } = options
  const path = join(folder, DEVICE_PLUGINS_SOCKET)
  try {
    await files.makeFolder(folder, 0o750)
    if (await sockets.answers(path)) {
      log.warn("Another kubelet of this machine serves device plugins: none can register here", { socket: path })
      return undefined
    }
    for (const socket of await sockets.list(folder)) await files.remove(socket.path)
    return await sockets.serve(path, [procedure(Register, answer)])
  } catch (err) {
    log.error("Failed to open the socket for device plugins: none can register", { socket: path, err })
    return undefined
  }
}
