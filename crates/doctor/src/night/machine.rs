//! Who stands behind an interrupt or an event of the firmware, as tables that people post
//! name it.

/// What an owner owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A row of `/proc/interrupts` (kernel/irq/proc.c:show_interrupts).
    Interrupt {
        /// Its number.
        number: u32,
        /// `IO-APIC`.
        chip: String,
        /// `14-fasteoi`.
        line: String,
        /// Whose it is.
        names: String,
        /// How often it came, all CPUs together.
        count: u64,
    },
    /// A row of `/proc/acpi/wakeup` (drivers/acpi/proc.c).
    AcpiWake {
        /// `GPP6`.
        name: String,
        /// It may wake.
        enabled: bool,
        /// `pci:0000:00:02.2`; empty if the row names none.
        node: String,
    },
    /// A `_PRW` of a disassembled table: this node wakes by this GPE.
    Gpe {
        /// `\_SB.PCI0.GPP6`.
        path: String,
        /// Its number.
        gpe: u32,
    },
    /// The `_ADR` of a node.
    Address {
        /// `GPP6`, or a path.
        path: String,
        /// Device and function as ACPI codes them: `0x00020002`.
        address: u32,
    },
    /// The embedded controller's own GPE (`ACPI: EC: GPE=0x7`, `EC GPE=0x16`).
    EcGpe(u32),
    /// `/sys/power/pm_wakeup_irq`.
    WakeupIrq(u32),
    /// It says that there is none (kernel/power/main.c:pm_wakeup_irq_show, -ENODATA).
    NoWakeupIrq,
    /// A wakeup source that a test saw signalled (fwts, src/acpi/s3/s3.c).
    Signalled(String),
    /// A claim in words: the writer says what woke.
    Claim,
}

/// A device of hardware lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// A line of `lspci`: address and what it is.
    Pci {
        /// `0000:53:00.0`.
        address: String,
        /// `SD Host controller: …`.
        name: String,
    },
    /// A root port or bridge of `lspci -t` with the bus below it, and the device that stands
    /// there, if the line says more than its place.
    Bridge {
        /// `00:02.2`.
        port: String,
        /// `03`.
        bus: String,
        /// What the first device below is; empty if the tree has places alone.
        name: String,
    },
    /// What `lspci -vv` says of link power: `ASPM Disabled`, of a device.
    Aspm {
        /// `0000:53:00.0`; empty if the text does not say.
        address: String,
        /// A state of it is on.
        enabled: bool,
    },
}
