/** Returns an IPv4 address in IPv4 form; a socket for both families reports it as IPv6: `::ffff:192.0.2.1`. */
export const plainAddress = (address = ""): string => (/^::ffff:[\d.]+$/i.test(address) ? address.slice(7) : address)
