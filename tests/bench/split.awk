# What a shell script would do: split the rows and print 34 columns.
/^GPU/ {
        printf "%.2f,%s,GPU", NR, $2
        for (i = 3; i <= 33; i++)
                printf ",%s", $i
        print ""
}
