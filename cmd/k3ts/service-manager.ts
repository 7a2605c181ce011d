import type { Logger } from "../../pkg/log/log.ts"

/**
 * Notifies the service manager that started the program, if it asked for that (systemd's Type=notify). Source:
 * sd_notify(3).
 */
export async function notifyServiceManager(
  state: "READY=1" | "STOPPING=1",
  log: Logger,
  socket = process.env.NOTIFY_SOCKET,
): Promise<void> {
  if (socket === undefined || socket === "") return
  try {
    const { sendUnixDatagram } = await import("../../pkg/runtime/notify.ts")
    sendUnixDatagram(socket, state)
  } catch (err) {
    log.warn("Failed to notify the service manager", { socket, state, err })
  }
}
