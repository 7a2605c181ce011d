import { connect } from "node:net"

/** Whether a program accepts connections at the unix socket. */
export const socketAnswers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    const tell = (does: boolean) => {
      socket.destroy()
      resolve(does)
    }
    socket.once("connect", () => tell(true))
    socket.once("error", () => tell(false))
  })
